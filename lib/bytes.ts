/**
 * Texts as bytes, bytes as Base64.
 *
 * @module
 */

/** UTF-8. */
export function encodeText(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

/** Base64. */
export function toBase64(bytes: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)));
}

/** Base64 that may stand in an address. */
export function toUrlSafe(base64: string): string {
  return base64.replaceAll("+", "-").replaceAll("/", "_");
}

/** The SHA-256 of a text in Base64, as a content security policy wants it. */
export async function hashText(text: string): Promise<string> {
  return toBase64(await crypto.subtle.digest("SHA-256", encodeText(text)));
}

/** The HMAC-SHA-256 of a text in Base64. */
export async function signText(key: CryptoKey, text: string): Promise<string> {
  return toBase64(await crypto.subtle.sign("HMAC", key, encodeText(text)));
}
