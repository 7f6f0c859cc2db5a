/**
 * `GET /api/health`: how this data center stands.
 *
 * @module
 */

import { answerJson, type Route } from "../route.ts";

/** Memory only: no KV operation. */
export const healthRoutes: readonly Route[] = [{
  method: "GET",
  path: "/api/health",
  handle({ kv, views, budget, colo, clock, errors }) {
    return answerJson({
      ok: kv !== undefined,
      store: kv === undefined ? "none" : "kv",
      dataCenter: colo,
      now: clock.now(),
      views: views.status(),
      budget: budget.status(),
      errors,
    });
  },
}];
