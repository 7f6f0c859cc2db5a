/**
 * What is deployed: one isolate's Worker.
 *
 * @module
 */

import { createWorker, type ScrimpWorker } from "./create_worker.ts";

const worker: ScrimpWorker = createWorker({
  // deno-lint-ignore scrimp/no-console -- a Worker's log is where its operator looks for errors
  onError: (error) => console.error(error),
});

export default worker;
