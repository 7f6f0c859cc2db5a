/**
 * All routes of the Worker.
 *
 * @module
 */

import type { Route } from "./route.ts";
import { healthRoutes } from "./routes/health.ts";
import { apiTrafficRoutes } from "./routes/api_traffic.ts";
import { badgeRoutes } from "./routes/badge.ts";
import { chatRoutes } from "./routes/chat.ts";
import { exportRoutes } from "./routes/export.ts";
import { feedRoutes } from "./routes/feed.ts";
import { importRoutes } from "./routes/import.ts";
import { openapiRoutes } from "./routes/openapi.ts";
import { searchRoutes } from "./routes/search.ts";
import { trafficRoutes } from "./routes/traffic.ts";
import { waitlistRoutes } from "./routes/waitlist.ts";

/** The routes, by path. */
export const routes: readonly Route[] = [
  ...apiTrafficRoutes,
  ...badgeRoutes,
  ...chatRoutes,
  ...exportRoutes,
  ...feedRoutes,
  ...healthRoutes,
  ...importRoutes,
  ...openapiRoutes,
  ...searchRoutes,
  ...trafficRoutes,
  ...waitlistRoutes,
];
