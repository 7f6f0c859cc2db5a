import { withPageViews } from "@scrimp/kv/with-page-views";
import type { Kv } from "@scrimp/kv/kv";

interface Env {
  readonly VIEWS: Kv;
}

function answer(request: Request): Response {
  const { pathname } = new URL(request.url);
  return pathname === "/gone"
    ? new Response("Gone", { status: 410 })
    : new Response(`<h1>${pathname}</h1>`, { headers: { "content-type": "text/html" } });
}

export default {
  fetch: withPageViews(
    (request, _env: Env) => answer(request),
    { kv: ({ VIEWS }) => VIEWS, lingerMs: 1_000 },
  ),
};
