import { assertEquals } from "@std/assert";
import { errorResponse, type Route } from "../lib/worker/route.ts";
import { matchRoute } from "../lib/worker/router.ts";

const handle = () => new Response();
const ROUTES: readonly Route[] = [
  { method: "GET", path: "/a", handle },
  { method: "POST", path: "/a", handle },
  { method: "DELETE", path: "/chat/:thread", handle },
  { method: "GET", path: "/chat/:thread/:turn", handle },
];

function match(method: string, path: string): unknown {
  const found = matchRoute(ROUTES, method, path);
  if (!found) return undefined;
  return "allow" in found ? found.allow : [found.route.path, found.params];
}

Deno.test("matchRoute() finds by method and path", () => {
  assertEquals(match("GET", "/a"), ["/a", {}]);
  assertEquals(match("HEAD", "/a"), ["/a", {}]);
  assertEquals(match("PUT", "/a"), "GET, HEAD, POST");
  assertEquals(match("HEAD", "/chat/x"), "DELETE");
  for (const path of ["/", "/a/", "/A", "/chat", "/chat/x/y/z", "/b/x"]) {
    assertEquals(match("GET", path), undefined, path);
  }
});

Deno.test("matchRoute() decodes parameters and takes broken escapes as they are", () => {
  assertEquals(match("DELETE", "/chat/a%3Ab%2F"), ["/chat/:thread", { thread: "a:b/" }]);
  assertEquals(match("DELETE", "/chat/%zz"), ["/chat/:thread", { thread: "%zz" }]);
  assertEquals(match("GET", "/chat/__proto__/1"), [
    "/chat/:thread/:turn",
    Object.fromEntries([["thread", "__proto__"], ["turn", "1"]]),
  ]);
});

Deno.test("errorResponse() is JSON that no cache keeps", async () => {
  const response = errorResponse(405, "methodNotAllowed", "No", { allow: "GET" });
  assertEquals([response.status, response.headers.get("allow")], [405, "GET"]);
  assertEquals(response.headers.get("cache-control"), "no-store");
  assertEquals(await response.json(), { error: { code: "methodNotAllowed", message: "No" } });
});
