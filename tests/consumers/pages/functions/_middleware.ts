import { pagesPageViews } from "@scrimp/kv/pages";
import type { Kv } from "@scrimp/kv/kv";

interface Env {
  readonly VIEWS: Kv;
}

export const onRequest = pagesPageViews<Env>({ kv: ({ VIEWS }) => VIEWS, lingerMs: 1_000 });
