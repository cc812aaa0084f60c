/**
 * Makes a TypeScript program of this repository runnable by Node, for processes that must be the child itself.
 *
 * Owns: the bundled file, which lies where `scripts/run-ts.mjs` keeps its own; that script removes it after our process.
 */
import path from "node:path";
import { isExternal, loadRolldown } from "../../../scripts/lib/project.mjs";

/** Vitest and scripts/run-ts.mjs both run with the root of the checkout as the working folder. */
const projectRoot = process.cwd();

/** Resolves with the path of the program's bundle. */
export async function bundleProgram(source: string): Promise<string> {
  const { rolldown } = await loadRolldown();
  const name = path.basename(source, ".ts");
  const dir = path.join(projectRoot, "node_modules/.cache/partyline", `${name}-${process.pid}`);
  const built = await rolldown({
    cwd: projectRoot,
    input: { main: path.resolve(projectRoot, source) },
    platform: "node",
    external: isExternal,
    tsconfig: false,
  });
  await built.write({
    dir,
    format: "esm",
    sourcemap: true,
    entryFileNames: "[name].mjs",
    chunkFileNames: "[name]-[hash].mjs",
  });
  await built.close();
  return path.join(dir, "main.mjs");
}
