/**
 * `GET /api/health`: how this data center stands.
 *
 * @module
 */

import type { Route } from "../route.ts";

/** Memory only: no KV operation. */
export const healthRoutes: readonly Route[] = [{
  method: "GET",
  path: "/api/health",
  handle({ kv, views, budget, colo, clock, errors }) {
    return Response.json({
      ok: kv !== undefined,
      store: kv === undefined ? "none" : "kv",
      dataCenter: colo,
      now: clock.now(),
      views: views.status(),
      budget: budget.status(),
      errors,
    }, { headers: { "cache-control": "no-store" } });
  },
}];
