/**
 * Finds the route of a request.
 *
 * @module
 */

import type { Route } from "./route.ts";

/** What a look-up gives. */
export type Match =
  | { readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly allow: string }
  | undefined;

/**
 * Finds a route by method and path. A `HEAD` request takes the `GET` route.
 *
 * @param routes The routes.
 * @param method The request's method.
 * @param path The request's path.
 * @returns The route with its parameters; the methods there are, where it is another; or nothing.
 */
export function matchRoute(routes: readonly Route[], method: string, path: string): Match {
  const wanted = method === "HEAD" ? "GET" : method;
  const allow = new Set<string>();
  for (const route of routes) {
    const params = paramsOf(route.path, path);
    if (!params) continue;
    if (route.method === wanted) return { route, params };
    allow.add(route.method);
    if (route.method === "GET") allow.add("HEAD");
  }
  return allow.size > 0 ? { allow: [...allow].join(", ") } : undefined;
}

function paramsOf(pattern: string, path: string): Record<string, string> | undefined {
  const names = pattern.split("/");
  const parts = path.split("/");
  if (names.length !== parts.length) return undefined;
  const params: [string, string][] = [];
  for (const [index, name] of names.entries()) {
    const part = parts[index] ?? "";
    if (name.startsWith(":")) params.push([name.slice(1), decode(part)]);
    else if (name !== part) return undefined;
  }
  return Object.fromEntries(params);
}

/** A broken escape is taken as it is. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
