import { withPageViews } from "@scrimp/kv/with-page-views";
import type { Kv } from "@scrimp/kv/kv";
import { AutoRouter, html } from "itty-router";

interface Env {
  readonly VIEWS: Kv;
}

const router = AutoRouter();
router
  .get("/", () => html("<h1>Home</h1>"))
  .get("/post/:id", ({ id }) => html(`<h1>${id}</h1>`))
  .get("/api/time", () => ({ time: 0 }));

export default {
  fetch: withPageViews<Env>(router.fetch, { kv: ({ VIEWS }) => VIEWS, lingerMs: 1_000 }),
};
