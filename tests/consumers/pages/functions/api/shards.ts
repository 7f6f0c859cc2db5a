import type { Kv } from "@scrimp/kv/kv";

/** What is stored, for the test: key, value and options of each shard. */
export async function onRequestGet({ env }: { env: { VIEWS: Kv } }): Promise<Response> {
  const { keys } = await env.VIEWS.list({ prefix: "views:" });
  return Response.json(
    await Promise.all(
      keys.map(async ({ name, metadata }) => [name, await env.VIEWS.get(name), { metadata }]),
    ),
  );
}
