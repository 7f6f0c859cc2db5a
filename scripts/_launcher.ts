/**
 * Notices when `npx` is gone: it is killed without telling what it started.
 *
 * @module
 */

/** How often to look. */
const LOOK_MS = 1_000;
/** From this process up: `deno task`, the shell that `npx` starts it with, `npx`. */
const GENERATIONS = 3;

/** The parent of a process; 0 where that is not known. */
async function parentOf(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "");
  return Number(status.match(/^PPid:\s*(\d+)/m)?.[1] ?? 0);
}

/** This process's ancestors as far as `npx`. */
async function ancestors(): Promise<string> {
  const found: number[] = [Deno.pid];
  for (let i = 0; i < GENERATIONS; i++) found.push(await parentOf(found.at(-1) ?? 0));
  return found.join(" ");
}

/**
 * Calls back once when this was started through `npx` and `npx` has ended. Linux only; elsewhere,
 * and without `npx`, it does nothing.
 *
 * @param onGone What to do then.
 */
export async function whenLauncherEnds(onGone: () => void): Promise<void> {
  if (Deno.build.os !== "linux" || Deno.env.get("npm_command") !== "exec") return;
  const first = await ancestors();
  const timer = setInterval(async () => {
    if (await ancestors() === first) return;
    clearInterval(timer);
    onGone();
  }, LOOK_MS);
}
