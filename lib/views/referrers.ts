/**
 * One key per source: `direct`, `internal`, a family such as `google`, a host, or `other`.
 *
 * @example
 * ```ts
 * import { createReferrerKey } from "@scrimp/kv/classify";
 * import { assertEquals } from "@std/assert";
 *
 * const referrerKey = createReferrerKey();
 * assertEquals(referrerKey("https://l.facebook.com/l.php?u=x", "https://site.example/"), "facebook");
 * assertEquals(referrerKey("https://www.example.org/a?q=secret", "https://site.example/"), "example.org");
 * ```
 *
 * @module
 */

import { createFamilies } from "./_families.ts";
import { remember } from "./_remember.ts";
import { KEY_CHARACTERS_MAX, OTHER } from "./tally.ts";

/** The key of what is no view. */
export const SPAM = "spam";

/** Scheme, then host, of a referrer; a port and a user name are left out. */
const AUTHORITY =
  /^\s*(?:https?|(android-app)):\/\/(?:[^/?#\\]*@)?([^/?#\\:@\s[\]]+|\[[\da-f:.]+\])(?::\d*)?\s*(?:[/?#\\]|$)/i;
/** A public host: dots, and a top-level domain that is no number. */
const HOST = /^[a-z\d_-]+(?:\.[a-z\d_-]+)*\.[a-z][a-z\d-]+$/;
const PRIVATE = /\.(?:arpa|corp|home|internal|intranet|invalid|lan|local(?:domain|host)?|private)$/;

/** How referrers become keys. */
export interface ReferrerOptions {
  /**
   * Whether the hosts and apps of one company are one source: `l.facebook.com` is `facebook`.
   *
   * @default {true}
   */
  readonly groupReferrers?: boolean;
  /**
   * Hosts that are the site itself, besides the one that was asked.
   *
   * @default {[]}
   */
  readonly ownHosts?: readonly string[];
  /**
   * Values of `utm_source` and `ref` that are sources of their own where there is no referrer, for
   * example `newsletter`. The names of families (`google`, `twitter`) always are. Other values are
   * not stored: the view is `direct`.
   *
   * @default {[]}
   */
  readonly sources?: readonly string[];
  /**
   * Hosts whose visits are no views, with their subdomains. Their key is `spam`.
   *
   * @default {[]}
   */
  readonly spamReferrers?: readonly string[];
}

/** Turns a `Referer` header into a key. `url` is the address that was asked for. */
export type ReferrerKey = (referrer: string | null, url: string) => string;

/**
 * Prepares the rules for referrers. The function it returns never throws and keeps nothing but the
 * host, and of the query only values that the options or the table of families name. It costs no KV
 * operation.
 *
 * @param options Which sources are one.
 * @returns The rules.
 */
export function createReferrerKey(options: ReferrerOptions = {}): ReferrerKey {
  const { groupReferrers = true, ownHosts = [], sources = [], spamReferrers = [] } = options;
  const familyOf = createFamilies();
  const own = new Set(ownHosts.map(bareHost));
  const spam = spamReferrers.map((host) => `.${bareHost(host)}`);
  const named = new Set(sources.map((source) => source.toLowerCase()));

  function keyOf(referrer: string, site: string): string {
    const found = AUTHORITY.exec(referrer);
    if (found === null) return OTHER;
    const host = bareHost(found[2] ?? "");
    if (found[1]) {
      const app = familyOf.app(host);
      return app ? groupReferrers ? app : host : OTHER;
    }
    if (host === bareHost(AUTHORITY.exec(site)?.[2] ?? "") || own.has(host)) return "internal";
    if (spam.some((end) => `.${host}`.endsWith(end))) return SPAM;
    if (host.length > KEY_CHARACTERS_MAX || !HOST.test(host) || PRIVATE.test(host)) return OTHER;
    return groupReferrers ? familyOf.host(host) ?? host : host;
  }

  /** The source that an address names itself. */
  function sourceOf(url: string): string {
    if (!url.includes("?")) return "direct";
    const found = /[?&]utm_source=([^&#]+)/.exec(url) ?? /[?&]ref=([^&#]+)/.exec(url);
    const source = found?.[1]?.toLowerCase();
    if (!source || source.length > KEY_CHARACTERS_MAX) return "direct";
    return named.has(source) ? source : familyOf.host(bareHost(source)) ?? "direct";
  }

  // A key depends on the two origins alone.
  let known = remember(String);
  let knownSite: string | undefined;
  return (referrer, url) => {
    if (!referrer?.trim()) return sourceOf(url);
    const site = originOf(url);
    if (site !== knownSite) {
      knownSite = site;
      known = remember((origin) => keyOf(origin, site));
    }
    return known(originOf(referrer), referrer);
  };
}

/** A host without case, `www.` and the dot at its end. */
function bareHost(host: string): string {
  return host.toLowerCase().replace(/^www\.(?=.*\.)|\.$/g, "");
}

/** An address up to its path, that is up to its third slash; all of it where there is none. */
function originOf(url: string): string {
  const end = url.indexOf("/", url.indexOf("//") + 2);
  return end < 0 ? url : url.slice(0, end);
}
