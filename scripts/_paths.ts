/**
 * Where things are.
 *
 * @module
 */
import { fileURLToPath } from "node:url";

/** The path of a `file:` URL on this system. */
export function fromFileUrl(url: string | URL): string {
  return fileURLToPath(url);
}

/** The repository's folder, with a slash at its end. */
export const ROOT: string = fromFileUrl(new URL("../", import.meta.url));
