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
  /** Any other binding or plain variable. */
  readonly [name: string]: unknown;
}
