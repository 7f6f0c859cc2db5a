import { assertEquals, assertStringIncludes } from "@std/assert";
import { Miniflare } from "miniflare";
import { bundleWorker, stop } from "../scripts/_bundle.ts";
import { readConfig } from "../scripts/_config.ts";
import { localWorker } from "../scripts/_local_worker.ts";
import { examine } from "../scripts/doctor.ts";

Deno.test({
  name: "examine() finds the page of the demo site that is kept from the Worker",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const config = await readConfig();
    const { assets } = config;
    if (!assets) throw new Error("The demo site has no assets");
    const { code } = await bundleWorker().finally(stop);
    const stateFolder = await Deno.makeTempDir({ prefix: "scrimp-doctor-" });
    const workerFirst = ["/*", "!/about", "!/images/*", "!/style.css"];
    const left = { ...config, assets: { ...assets, run_worker_first: workerFirst } };
    const site = new Miniflare(localWorker(left, {
      code: new TextDecoder().decode(code),
      port: 0,
      stateFolder,
      vars: { SCRIMP_DEBUG: "1" },
    }));
    try {
      const { href } = await site.ready;
      const { pages, advice } = await examine(href, { list: "/about\n/style.css", workerFirst });
      assertEquals(pages.map(({ path, finding }) => [path, finding]), [
        ["/", "counted"],
        ["/about", "missed"],
      ]);
      assertEquals(advice.length, 1);
      assertStringIncludes(advice[0] ?? "", '# "!/about" is gone');
    } finally {
      await site.dispose();
      await Deno.remove(stateFolder, { recursive: true });
    }
  },
});
