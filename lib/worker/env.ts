/**
 * What the Worker finds in its environment.
 *
 * @module
 */

import type { Kv } from "../kv/kv.ts";

/** Something that answers requests, such as the static-assets binding. */
export interface Fetcher {
  /** Answers a request. */
  fetch(request: Request): Promise<Response>;
}

/** The Worker's bindings and settings. All are optional: what is missing is simply off. */
export interface Env {
  /** The namespace that everything is stored in. Without it the site is served and nothing stored. */
  readonly KV?: Kv;
  /** The site. */
  readonly ASSETS?: Fetcher;
  /** Opens the private routes; a secret. */
  readonly ADMIN_TOKEN?: string;
  /** What client addresses are hashed with; a secret. @default {ADMIN_TOKEN} */
  readonly HASH_SECRET?: string;
  /** A D1 database: signups are stored exactly once. */
  readonly DB?: unknown;
  /** Cloudflare's rate-limiting binding, asked before the Worker's own limit. */
  readonly RATE_LIMIT?: unknown;
  /** POST requests that a client may send in a minute. @default {"20"} */
  readonly POSTS_PER_MINUTE?: string;
  /** The IANA zone whose days are counted. @default {"UTC"} */
  readonly TIME_ZONE?: string;
  /** Query parameters that tell pages apart, separated by commas. @default {none} */
  readonly QUERY_PARAMS?: string;
  /** Templates of paths with ids, separated by commas, for example `/post/:id`. @default {none} */
  readonly PATH_TEMPLATES?: string;
  /** Other hosts of the site, separated by commas. @default {none} */
  readonly OWN_HOSTS?: string;
  /** `1` counts `/About` and `/about` as two pages. @default {"0"} */
  readonly KEEP_CASE?: string;
  /** `1` counts composed and decomposed forms of a letter as two pages. @default {"0"} */
  readonly KEEP_UNICODE?: string;
  /** `0` counts each host by itself: `l.facebook.com` is no `facebook`. @default {"1"} */
  readonly GROUP_REFERRERS?: string;
  /** Values of `utm_source` and `ref` that are sources, separated by commas. @default {none} */
  readonly SOURCES?: string;
  /** Hosts whose visits are not counted, separated by commas. @default {none} */
  readonly SPAM_REFERRERS?: string;
  /** KV writes a day for page views over the whole network. @default {"400"} */
  readonly VIEWS_WRITES_PER_DAY?: string;
  /** `1` hides the numbers from whoever does not know `ADMIN_TOKEN`. @default {"0"} */
  readonly TRAFFIC_PRIVATE?: string;
  /** The origin that may read the traffic API from its pages, or `*`. @default {none} */
  readonly TRAFFIC_CORS?: string;
  /** `1` marks pages with an `X-Scrimp` header that tells how they were counted. @default {"0"} */
  readonly SCRIMP_DEBUG?: string;
  /** Any other binding or plain variable. */
  readonly [name: string]: unknown;
}
