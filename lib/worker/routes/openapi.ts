/**
 * `GET /api/openapi.json`: the schema of the traffic API, OpenAPI 3.1. No KV operation.
 *
 * @module
 */

import type { Route } from "../route.ts";

/** The version of the schema. Fields are only added within a major version. */
export const API_VERSION = "1.0.0";

/** The routes of this file. */
export const openapiRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/api/openapi.json",
    handle: () =>
      Response.json(describeApi(), {
        headers: { "cache-control": "public, max-age=3600", "access-control-allow-origin": "*" },
      }),
  },
];

type Json = Readonly<Record<string, unknown>>;

/**
 * Describes the traffic API.
 *
 * @returns An OpenAPI document.
 */
export function describeApi(): Json {
  const query = (name: string, schema: Json) => ({ name, in: "query", schema });
  const answer = (description: string, type: string, schema: Json) => ({
    description,
    content: { [type]: { schema } },
  });
  const get = (description: string, type: string, schema: Json) => ({
    get: {
      parameters: [
        query("date", { type: "string", format: "date" }),
        query("days", { type: "integer", minimum: 1, maximum: 90 }),
      ],
      responses: {
        200: answer(description, type, schema),
        default: answer("Problem", "application/json", ref("Problem")),
      },
    },
  });
  return {
    openapi: "3.1.0",
    info: { title: "Scrimp", version: API_VERSION },
    paths: {
      "/api/traffic": get("A day, or the last days", "application/json", {
        anyOf: [ref("Day"), ref("Range")],
      }),
      "/api/traffic.csv": get("The same as CSV", "text/csv", { type: "string" }),
      "/api/export": get("All days, one a line", "application/x-ndjson", ref("Export")),
    },
    components: { schemas: describeSchemas() },
  };
}

function ref(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

function shape(properties: Json): Json {
  return { type: "object", properties, required: Object.keys(properties) };
}

function describeSchemas(): Json {
  const text = { type: "string" };
  const count = { type: "integer", minimum: 0 };
  const age = { type: ["number", "null"] };
  const list = (items: Json) => ({ type: "array", items });
  const counts = { type: "object", additionalProperties: count };
  const numbers = {
    date: { type: "string", format: "date" },
    total: count,
    paths: counts,
    refs: counts,
    kinds: counts,
    skipped: counts,
    dropped: count,
  };
  const warning = shape({ code: text, message: text, reasons: list(text), innocent: text });
  return {
    Day: shape({
      ...numbers,
      timeZone: text,
      partial: { type: "boolean" },
      pending: count,
      damaged: count,
      writes: count,
      note: text,
      freshness: shape({
        dataCenters: count,
        shards: count,
        oldestSeconds: age,
        newestSeconds: age,
        source: text,
      }),
      warning: { anyOf: [{ type: "null" }, warning] },
    }),
    Range: shape({ days: list(ref("Day")), total: count, timeZone: text, damaged: count }),
    Export: shape({ v: { const: 1 }, ...numbers }),
    Problem: shape({ error: shape({ code: text, message: text }) }),
  };
}
