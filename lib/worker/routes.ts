/**
 * All routes of the Worker.
 *
 * @module
 */

import type { Route } from "./route.ts";
// In this order, what is alike stands close together in the bundle, which compresses best.
import { chatRoutes } from "./routes/chat.ts";
import { feedRoutes } from "./routes/feed.ts";
import { openapiRoutes } from "./routes/openapi.ts";
import { exportRoutes } from "./routes/export.ts";
import { apiTrafficRoutes } from "./routes/api_traffic.ts";
import { importRoutes } from "./routes/import.ts";
import { searchRoutes } from "./routes/search.ts";
import { waitlistRoutes } from "./routes/waitlist.ts";
import { trafficRoutes } from "./routes/traffic.ts";
import { badgeRoutes } from "./routes/badge.ts";
import { healthRoutes } from "./routes/health.ts";

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
