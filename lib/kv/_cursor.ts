import { KvFailure } from "./_backend.ts";

/** An opaque cursor that stands after a key. */
export function encodeCursor(name: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(name)));
}

/** The key that a cursor stands after. */
export function decodeCursor(cursor: string): string {
  try {
    const bytes = Uint8Array.from(atob(cursor), (char) => char.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new KvFailure(400, "Invalid cursor");
  }
}
