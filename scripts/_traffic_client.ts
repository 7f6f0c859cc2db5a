/**
 * Asks a deployed or local Worker.
 *
 * @module
 */

/** Where `deno task dev` serves. */
export const LOCAL_URL = "http://127.0.0.1:8787";

/**
 * Asks the API with the secret `ADMIN_TOKEN` of the environment, where there is one. The secret is
 * never part of an address.
 *
 * @param base The Worker's address.
 * @param path The path and query.
 * @param init What `fetch` takes.
 * @returns The response.
 * @throws {Error} If nobody answers, or the answer is an error; the message is for the user.
 */
export async function askWorker(
  base: string,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  const token = Deno.env.get("ADMIN_TOKEN");
  const headers = new Headers(init.headers);
  if (token) headers.set("authorization", `Bearer ${token}`);
  const url = new URL(path, base);
  let response: Response;
  try {
    response = await fetch(url, { ...init, headers, redirect: "error" });
  } catch (error) {
    throw new Error(
      `Cannot reach ${url.origin}: ${error instanceof Error ? error.message : error}`,
    );
  }
  if (response.ok) return response;
  const body: unknown = await response.json().catch(() => undefined);
  const { error } = Object(body) as { error?: { message?: string } };
  const message = error?.message ?? response.statusText;
  const hint = response.status === 401 ? ". Put the secret into the variable ADMIN_TOKEN" : "";
  throw new Error(`${url.origin} answers ${response.status}: ${message}${hint}`);
}

/**
 * Checks an address given by the user.
 *
 * @param text The address.
 * @returns Its origin.
 * @throws {RangeError} If it is none.
 */
export function readBase(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new RangeError(`Cannot use "${text}": expected an address such as https://example.org`);
  }
  return new URL(text).origin;
}
