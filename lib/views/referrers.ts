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

import { createFamilies, type Families } from "./_families.ts";
import { KEY_CHARACTERS_MAX, OTHER } from "./tally.ts";

/** The key of what is no view. */
export const SPAM = "spam";

/** Scheme, then host, of a referrer; a port and a user name are left out. */
const AUTHORITY =
  /^\s*(?:https?|(android-app)):\/\/(?:[^/?#\\]*@)?([^/?#\\:@\s[\]]+|\[[\da-f:.]+\])(?::\d*)?\s*(?:[/?#\\]|$)/i;
/** A public host: dots, and a top-level domain that is no number. */
const HOST = /^[a-z\d_-]+(?:\.[a-z\d_-]+)*\.[a-z][a-z\d-]+$/;
const PRIVATE = /\.(?:arpa|corp|home|internal|intranet|invalid|lan|local(?:domain|host)?|private)$/;

/** How many origins an isolate remembers, in memory only, and how long ones. */
const ORIGINS_MAX = 256;
const ORIGIN_CHARACTERS_MAX = 80;

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
      return app === undefined ? OTHER : groupReferrers ? app : host;
    }
    if (host === hostOf(site) || own.has(host)) return "internal";
    if (spam.some((end) => `.${host}`.endsWith(end))) return SPAM;
    if (host.length > KEY_CHARACTERS_MAX || !HOST.test(host) || PRIVATE.test(host)) return OTHER;
    return groupReferrers ? familyOf.host(host) ?? host : host;
  }

  // A key depends on the two origins alone, so the last ones are remembered.
  const known = new Map<string, string>();
  let knownSite = "";
  return (referrer, url) => {
    if (!referrer?.trim()) {
      return sourceOf(url, named, familyOf);
    }
    const site = originOf(url);
    const origin = originOf(referrer);
    if (site !== knownSite || known.size >= ORIGINS_MAX) {
      known.clear();
      knownSite = site;
    }
    let key = known.get(origin);
    if (key === undefined) {
      key = keyOf(origin, site);
      if (origin.length <= ORIGIN_CHARACTERS_MAX) known.set(origin, key);
    }
    return key;
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

function hostOf(url: string): string {
  return bareHost(AUTHORITY.exec(url)?.[2] ?? "");
}

function sourceOf(url: string, named: ReadonlySet<string>, familyOf: Families): string {
  if (!url.includes("?")) return "direct";
  const found = /[?&]utm_source=([^&#]+)/.exec(url) ?? /[?&]ref=([^&#]+)/.exec(url);
  const source = (found?.[1] ?? "").toLowerCase();
  return named.has(source) ? source : familyOf.host(bareHost(source)) ?? "direct";
}
