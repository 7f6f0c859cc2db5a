import { honoPageViews } from "@scrimp/kv/hono";
import type { Kv } from "@scrimp/kv/kv";
import { Hono } from "hono";

interface Bindings {
  readonly VIEWS: Kv;
}

const app = new Hono<{ Bindings: Bindings }>();
app.use(honoPageViews({ kv: (env: Bindings) => env.VIEWS, lingerMs: 1_000 }));
app.get("/", (c) => c.html("<h1>Home</h1>"));
app.get("/post/:id", (c) => c.html(`<h1>${c.req.param("id")}</h1>`));
app.get("/broken", () => {
  throw new Error("out of order");
});
app.onError((_error, c) => c.text("Out of order", 500));
app.get("/api/time", (c) => c.json({ time: 0 }));

export default app;
