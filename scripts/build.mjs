/**
 * Builds dist/: one ESM bundle per entry with shared chunks and source maps, declarations under dist/types/, and the web
 * pages.
 *
 * The result is made in a folder beside dist/ and moved into place at the end: a failed build leaves the old dist/ as it
 * was, and no process ever sees half of one. Types are not checked here (`npm run typecheck` does).
 *
 * `--root DIR` builds another tree with the same layout, for tests of this script.
 */
import { chmod, cp, mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { entries, firstLoadBytes, isExternal, loadRolldown, pages, projectRoot, run } from "./lib/project.mjs";

const { values } = parseArgs({ options: { root: { type: "string", default: projectRoot } } });
const root = path.resolve(values.root);
const staging = path.join(root, `dist.${process.pid}`);
const startedAt = performance.now();

try {
  requireEntries();
  await mkdir(staging, { recursive: true });
  await Promise.all([bundleEntries(), emitDeclarations(), ...pages.map(buildPage)]);
  await moveIntoPlace();
  console.log(`Built dist/ in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`);
} catch (error) {
  console.error(`Build failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  await rm(staging, { recursive: true, force: true });
}

function requireEntries() {
  const missing = Object.values(entries).filter((file) => !existsSync(path.join(root, file)));
  if (missing.length > 0) throw new Error(`these entries do not exist: ${missing.join(", ")}`);
}

async function bundleEntries() {
  const { rolldown } = await loadRolldown();
  const bundle = await rolldown({
    cwd: root,
    input: { ...entries },
    platform: "node",
    external: isExternal,
    tsconfig: false,
  });
  await bundle.write({
    dir: staging,
    format: "esm",
    sourcemap: true,
    entryFileNames: "[name].js",
    // Beside the entries, so that `new URL("./emulator-page/", import.meta.url)` holds in whichever file it ends up.
    chunkFileNames: "[name]-[hash].js",
    banner: (chunk) => (chunk.isEntry && chunk.name === "cli" ? "#!/usr/bin/env node" : ""),
  });
  await bundle.close();
  await chmod(path.join(staging, "cli.js"), 0o755);
}

async function emitDeclarations() {
  const tsc = path.join(projectRoot, "node_modules/typescript/bin/tsc");
  const outDir = path.join(staging, "types");
  const code = await run(process.execPath, [tsc, "-p", path.join(root, "tsconfig.build.json"), "--outDir", outDir]);
  if (code !== 0) throw new Error("tsc could not emit the declarations (see above).");
  await rewriteDeclarationImports(outDir);
}

/** tsc keeps `./x.ts` in declarations; a consumer has `./x.d.ts`, which is found as `./x.js`. */
async function rewriteDeclarationImports(/** @type {string} */ folder) {
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith(".d.ts"));
  for (const file of files) {
    const absolute = path.join(folder, file);
    const text = await readFile(absolute, "utf8");
    const rewritten = text.replace(/((?:from|import)\s*\(?\s*["']\.{1,2}\/[^"']*)\.ts(["'])/g, "$1.js$2");
    if (rewritten !== text) await writeFile(absolute, rewritten);
  }
}

async function buildPage(/** @type {typeof pages[number]} */ page) {
  const from = path.join(root, page.from);
  if (!existsSync(from)) {
    console.log(`No page in ${page.from}/: dist/${page.to}/ is not built.`);
    return;
  }
  const to = path.join(staging, page.to);
  await cp(from, to, {
    recursive: true,
    filter: (source) => !source.endsWith(".ts") && path.basename(source) !== "tsconfig.json",
  });
  const main = path.join(from, "main.ts");
  if (existsSync(main)) await bundlePage(main, to);
  for (const file of page.also ?? []) await cp(path.join(projectRoot, file), path.join(to, path.basename(file)));
  const bytes = await firstLoadBytes(to);
  if (bytes > (page.firstLoadBytesMax ?? Infinity))
    throw new Error(`${page.to} loads ${bytes} bytes, compressed; it may be ${page.firstLoadBytesMax}.`);
}

async function bundlePage(/** @type {string} */ main, /** @type {string} */ to) {
  const { rolldown } = await loadRolldown();
  const bundle = await rolldown({ cwd: root, input: { main }, platform: "browser", tsconfig: false });
  await bundle.write({ dir: to, format: "esm", sourcemap: true, entryFileNames: "[name].js" });
  await bundle.close();
}

async function moveIntoPlace() {
  const dist = path.join(root, "dist");
  const old = path.join(root, `dist.${process.pid}.old`);
  if (existsSync(dist)) await rename(dist, old);
  await rename(staging, dist);
  await rm(old, { recursive: true, force: true });
}
