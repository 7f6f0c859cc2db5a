import { assertEquals } from "@std/assert";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describeApi } from "../lib/worker/routes/openapi.ts";
import { busyRange, fullRange, WARNING } from "./_report_fixtures.ts";
import { BROWSER, SITE, trafficWorker } from "./_traffic_worker.ts";

/** Says what is wrong with a value as one of the API's schemas. */
function validator(): (name: string, value: unknown) => string | null {
  const ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true });
  ajv.addFormat("date", /^\d{4}-\d\d-\d\d$/);
  // The document around the schemas is no schema itself.
  ajv.addVocabulary(["openapi", "info", "paths", "components"]);
  ajv.addSchema(describeApi(), "api");
  return (name, value) => {
    const check = ajv.compile({ $ref: `api#/components/schemas/${name}` });
    return check(value) ? null : ajv.errorsText(check.errors);
  };
}

Deno.test("the schema fits real answers", async () => {
  const check = validator();
  const worker = trafficWorker({ ASSETS: SITE });
  for (const day of [...fullRange(90).days.slice(0, 80), ...busyRange(5).days]) {
    await worker.kv.put(`traffic:${day.date}`, JSON.stringify(day));
  }
  await worker.kv.put("traffic:2026-11-20", "damaged");
  for (let i = 0; i < 30; i++) {
    await worker.ask("/about", { headers: { ...BROWSER, accept: "*/*" } });
  }
  await worker.settle();
  const json = async (path: string) => await (await worker.ask(path)).json();
  for (const date of ["2026-11-30", "2026-11-29", "2026-11-20", "2026-09-10", "2020-01-01"]) {
    assertEquals(check("Day", await json(`/api/traffic?date=${date}`)), null);
  }
  for (const days of [1, 7, 90]) {
    assertEquals(check("Range", await json(`/api/traffic?days=${days}`)), null);
  }
  const lines = (await (await worker.ask("/api/export")).text()).trimEnd().split("\n");
  for (const line of lines) assertEquals(check("Export", JSON.parse(line)), null);
  assertEquals(check("Problem", await json("/api/traffic?days=0")), null);
});

Deno.test("the schema fits a day with a warning, and nothing that is none", () => {
  const check = validator();
  const [day] = busyRange(1).days;
  assertEquals(check("Day", { ...day, warning: WARNING }), null);
  for (
    const wrong of [{}, { ...day, total: -1 }, { ...day, paths: { a: "1" } }, {
      ...day,
      warning: 1,
    }]
  ) {
    assertEquals(typeof check("Day", wrong), "string");
  }
});

Deno.test("GET /api/openapi.json answers the description, to every origin", async () => {
  const response = await trafficWorker({ TRAFFIC_PRIVATE: "1" }).ask("/api/openapi.json");
  assertEquals(response.headers.get("access-control-allow-origin"), "*");
  const { openapi, info } = await response.json() as {
    openapi: string;
    info: { version: string };
  };
  assertEquals([openapi, info.version], ["3.1.0", "1.0.0"]);
});
