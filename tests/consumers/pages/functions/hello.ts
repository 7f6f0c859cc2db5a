/** A page that a function makes. */
export function onRequestGet(): Response {
  return new Response("<h1>Hello</h1>", { headers: { "content-type": "text/html" } });
}
