import { DenoKv } from "@scrimp/kv/deno-kv";
import { withPageViews } from "@scrimp/kv/with-page-views";

const [file] = Deno.args;
const kv = new DenoKv(await Deno.openKv(file));

function answer(request: Request): Response {
  const { pathname } = new URL(request.url);
  return pathname.startsWith("/api/")
    ? Response.json({ pathname })
    : new Response(`<h1>${pathname}</h1>`, { headers: { "content-type": "text/html" } });
}

Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log(port) },
  withPageViews(answer, { kv: () => kv, lingerMs: 1_000 }),
);
