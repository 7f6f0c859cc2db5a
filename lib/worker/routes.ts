/**
 * All routes of the Worker.
 *
 * @module
 */

import type { Route } from "./route.ts";
import { healthRoutes } from "./routes/health.ts";
import { apiTrafficRoutes } from "./routes/api_traffic.ts";
import { waitlistRoutes } from "./routes/waitlist.ts";

/** The routes, by path. */
export const routes: readonly Route[] = [
  ...apiTrafficRoutes,
  ...healthRoutes,
  ...waitlistRoutes,
];
