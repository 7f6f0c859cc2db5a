/**
 * All routes of the Worker.
 *
 * @module
 */

import type { Route } from "./route.ts";
import { healthRoutes } from "./routes/health.ts";
import { apiTrafficRoutes } from "./routes/api_traffic.ts";
import { badgeRoutes } from "./routes/badge.ts";
import { exportRoutes } from "./routes/export.ts";
import { importRoutes } from "./routes/import.ts";
import { openapiRoutes } from "./routes/openapi.ts";
import { trafficRoutes } from "./routes/traffic.ts";
import { waitlistRoutes } from "./routes/waitlist.ts";

/** The routes, by path. */
export const routes: readonly Route[] = [
  ...apiTrafficRoutes,
  ...badgeRoutes,
  ...exportRoutes,
  ...healthRoutes,
  ...importRoutes,
  ...openapiRoutes,
  ...trafficRoutes,
  ...waitlistRoutes,
];
