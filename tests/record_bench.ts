/**
 * What `record()` costs, beside the recorder that it replaces, which classifies nothing:
 * `deno bench tests/record_bench.ts`. Compare the minima: on a busy machine the averages say little.
 *
 * @module
 */
import { articleRecorder, requests, scrimpRecorder, TRAFFIC } from "./_recorders.ts";

const COUNT = 4096;

for (const [group, headers, referred] of TRAFFIC) {
  const all = requests(COUNT, headers, referred);
  const article = articleRecorder();
  const scrimp = scrimpRecorder();
  Deno.bench(`article-style, ${COUNT} requests`, { group, baseline: true }, () => {
    for (const request of all) article(request);
  });
  Deno.bench(`PageViews.record(), ${COUNT} requests`, { group }, () => {
    for (const request of all) scrimp(request);
  });
}
