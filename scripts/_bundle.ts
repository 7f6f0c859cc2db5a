/**
 * Bundles a module: one minified ES module, `isbot` included.
 *
 * @module
 */
import { build, type BuildOptions, type Metafile, type Plugin, stop } from "esbuild";
import { fromFileUrl, ROOT } from "./_paths.ts";
import { gzipSync } from "node:zlib";
import { minify } from "terser";
import { withoutUnusedMethods } from "./_unused_methods.ts";

/** A bundle in memory. */
export interface Bundle {
  /** The module's text, as bytes. */
  readonly code: Uint8Array;
  /** Size as it is, in bytes. */
  readonly bytes: number;
  /** Size as it travels, in bytes. */
  readonly gzipBytes: number;
  /** The names that it exports. */
  readonly exports: readonly string[];
  /** What went into it, the largest first. */
  readonly inputs: readonly { readonly path: string; readonly bytes: number }[];
}

/** The module that is deployed. */
export const WORKER_ENTRY = "lib/worker/entry.ts";

/** Finds npm packages where Deno keeps them, so that no `node_modules` is needed. */
const denoPackages: Plugin = {
  name: "deno-packages",
  setup({ onResolve }) {
    onResolve({ filter: /^[a-z@]/ }, async ({ path, kind }) => {
      if (kind === "entry-point" || path.startsWith("cloudflare:")) return undefined;
      let url = import.meta.resolve(path);
      if (!url.startsWith("file:")) {
        await import(path);
        url = import.meta.resolve(path);
      }
      return { path: fromFileUrl(url) };
    });
  },
};

/** Options that build, dev and the size gate share. */
export const BUNDLE_OPTIONS = {
  absWorkingDir: ROOT,
  bundle: true,
  charset: "utf8",
  external: ["cloudflare:*"],
  format: "esm",
  legalComments: "none",
  logLevel: "silent",
  metafile: true,
  minify: true,
  platform: "neutral",
  plugins: [denoPackages],
  target: "es2022",
  write: false,
} as const satisfies BuildOptions;

/**
 * Bundles an entry module. Call `stop()` when no more bundles are wanted.
 *
 * @param entry The module's path, relative to the repository.
 * @param more Plugins that this bundle needs beside the shared ones.
 * @returns The bundle.
 * @throws {Error} If something cannot be resolved or parsed; the message names place and cause.
 */
export async function bundle(entry: string, more: readonly Plugin[] = []): Promise<Bundle> {
  const plugins = [...more, ...BUNDLE_OPTIONS.plugins];
  const { outputFiles, metafile } = await build({
    ...BUNDLE_OPTIONS,
    plugins,
    entryPoints: [entry],
  });
  const [file] = outputFiles;
  if (!file) throw new Error(`Bundle of "${entry}" is empty`);
  return {
    ...measure(file.contents),
    exports: Object.values(metafile.outputs).flatMap((output) => output.exports),
    inputs: inputsOf(metafile),
  };
}

/**
 * Bundles the Worker to the bytes that are deployed, without methods that it does not use. What
 * esbuild leaves, terser makes about a twenty-fifth smaller: it sees through variables that are used
 * once.
 *
 * @returns The bundle.
 * @throws {Error} If something cannot be resolved or parsed.
 */
export async function bundleWorker(): Promise<Bundle> {
  const made = await bundle(WORKER_ENTRY, [withoutUnusedMethods]);
  const { code = "" } = await minify(new TextDecoder().decode(made.code), {
    module: true,
    // None of the getters in here does anything but read.
    compress: { ecma: 2020, inline: 3, passes: 2, pure_getters: true },
  });
  return { ...made, ...measure(new TextEncoder().encode(code)) };
}

/** A module's text and its sizes. */
function measure(code: Uint8Array): Pick<Bundle, "code" | "bytes" | "gzipBytes"> {
  return { code, bytes: code.length, gzipBytes: gzipSync(code).length };
}

/** Bytes that each source file contributed, the largest first. */
function inputsOf({ outputs }: Metafile): Bundle["inputs"] {
  return Object.values(outputs)
    .flatMap(({ inputs }) => Object.entries(inputs))
    .map(([path, { bytesInOutput }]) => ({
      path: path.replace(/^.*\/(isbot)\/[^/]+\//, "npm:$1/"),
      bytes: bytesInOutput,
    }))
    .sort((a, b) => b.bytes - a.bytes);
}

export { stop };
