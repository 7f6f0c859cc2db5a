/** What the counters need of a namespace. */
export interface Namespace {
  /** Reads a value. */
  get(key: string): Promise<string | null>;
  /** Stores a value. */
  put(key: string, value: string): Promise<void>;
}

/** A page counter as many write it: read, add one, write back. */
export async function countNaively(kv: Namespace): Promise<void> {
  const views = Number(await kv.get("views") ?? 0);
  await kv.put("views", String(views + 1));
}

/** One that keeps its count in memory and gives each location a key of its own. */
export function createCounter(kv: Namespace, location: string): () => Promise<void> {
  let views = 0;
  return () => kv.put(`views:${location}`, String(++views));
}
