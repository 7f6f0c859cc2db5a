/**
 * One id a client address: an IPv4 address whole, an IPv6 address by its network.
 *
 * A home or a phone is given a whole IPv6 /64, so its 2^64 addresses must share one bucket.
 * Memory only: costs no KV operation.
 *
 * @example One bucket a network
 * ```ts
 * import { ipKey } from "@scrimp/kv/ip-key";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(ipKey("192.0.2.7"), "192.0.2.7");
 * assertEquals(ipKey("2001:db8:0:1:aaaa::1"), ipKey("2001:DB8::1:bbbb:0:0:2"));
 * assertEquals(ipKey("::ffff:192.0.2.7"), "192.0.2.7");
 * assertEquals(ipKey("::ffff:c000:207"), "192.0.2.7");
 * ```
 *
 * @module
 */

/** Options of {@linkcode ipKey}. */
export interface IpKeyOptions {
  /**
   * Bits of an IPv6 address that make the network: a whole number from 1 to 128.
   *
   * @default {64}
   */
  readonly v6?: number;
}

/**
 * Turns a client's address into the id to limit it by.
 *
 * An IPv4-mapped IPv6 address is told by its bits, so `::ffff:1.2.3.4` and `::ffff:102:304` are both
 * `1.2.3.4`. All spellings of an IPv6 network give one id, such as `2001:db8:0:1::/64`; a zone
 * (`%eth0`) and brackets are dropped.
 *
 * @param ip An address, as in the header `CF-Connecting-IP`. Do not take it from `X-Forwarded-For`,
 * which anyone can send.
 * @param options See {@linkcode IpKeyOptions}.
 * @returns The id: at most 43 characters.
 * @throws {TypeError} If it is not an IP address. An IPv4 part with a leading zero is none.
 * @throws {RangeError} If `v6` is no whole number from 1 to 128.
 */
export function ipKey(ip: string, options: IpKeyOptions = {}): string {
  const { v6 = 64 } = options;
  if (!Number.isInteger(v6) || v6 < 1 || v6 > 128) {
    throw new RangeError(`Option "v6" must be a whole number from 1 to 128: got ${v6}`);
  }
  const parts = String(ip).split(".");
  if (parts.length === 4 && parts.every((part) => String(Number(part) & 255) === part)) return ip;
  const groups = groupsOf(String(ip).replace(/^\[(.*)\]$/, "$1").replace(/%[\w.~-]+$/, ""));
  if (groups === undefined) {
    throw new TypeError(`Client address must be an IPv4 or IPv6 address: got "${String(ip)}"`);
  }
  const [high = 0, low = 0] = groups.slice(6);
  if (groups.slice(0, 6).join() === "0,0,0,0,0,65535") {
    return [high >> 8, high & 255, low >> 8, low & 255].join(".");
  }
  const network = groups.map((group, i) => {
    const rest = 16 - Math.min(Math.max(v6 - i * 16, 0), 16);
    return (group >> rest << rest).toString(16);
  });
  const head = network.join(":").replace(/(:0)+$/, "");
  return `${head}${head.split(":").length < 8 ? "::" : ""}/${v6}`;
}

/** The eight groups of an IPv6 address. Its spellings are left to the URL parser, which knows all. */
function groupsOf(text: string): number[] | undefined {
  const url = `http://[${text}]`;
  if (!/^[\da-f:.]+$/i.test(text) || !URL.canParse(url)) return undefined;
  const [left = [], right = []] = new URL(url).hostname.slice(1, -1).split("::")
    .map((half) => half.split(":").filter((group) => group !== ""));
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => "0");
  return [...left, ...zeros, ...right].map((group) => parseInt(group, 16));
}
