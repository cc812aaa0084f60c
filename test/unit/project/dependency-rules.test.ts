import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cruiseTree, ruleNames } from "../../../scripts/lib/cruise.mjs";

/** Sources by path: each imports the listed specifiers. */
type Tree = Readonly<Record<string, readonly string[]>>;

/** The layout of a checkout that keeps every rule, with each kind of import that is allowed. */
const cleanTree: Tree = {
  "index.ts": ["./services/provide.ts", "./adapters/store/sqlite/index.ts", "./inspector/index.ts", "node:path"],
  "cli.ts": ["./index.ts", "commander"],
  "machines/ids.ts": [],
  "machines/wire/envelopes.ts": ["../ids.ts"],
  "machines/lease.rules.ts": ["./ids.ts"],
  "machines/lease.machine.ts": ["xstate", "./lease.rules.ts", "./wire/envelopes.ts"],
  "machines/instance.machine.ts": ["xstate", "./lease.machine.ts"],
  "services/ports.ts": ["../machines/ids.ts"],
  "services/provide.ts": ["xstate", "../machines/instance.machine.ts", "./ports.ts"],
  "adapters/host/clock.ts": ["../../services/ports.ts"],
  "adapters/store/rows.ts": ["../../machines/ids.ts"],
  "adapters/store/sqlite/index.ts": ["better-sqlite3", "node:fs", "../rows.ts", "../../../machines/lease.rules.ts"],
  "adapters/store/postgres/index.ts": ["pg", "../rows.ts"],
  "adapters/transport/wire/schemas.ts": ["zod", "../../../machines/wire/envelopes.ts"],
  "adapters/transport/unix/index.ts": ["../wire/schemas.ts", "node:net"],
  "adapters/transport/ws/index.ts": ["ws", "../wire/schemas.ts"],
  "adapters/telegram/client/index.ts": ["grammy"],
  "adapters/telegram/emulator/server.ts": ["@grammyjs/types"],
  "adapters/telegram/emulator/index.ts": ["./server.ts", "node:http"],
  "adapters/grammy/index.ts": ["grammy", "../../services/ports.ts"],
  "inspector/index.ts": ["ws", "../services/ports.ts"],
  "examples/echo.ts": ["../index.ts", "../adapters/telegram/emulator/index.ts"],
  "test/unit/lease.test.ts": ["vitest", "../../machines/lease.machine.ts", "../../index.ts"],
};

/** For each rule: a file that breaks it, and the import with which it does. */
const planted: Readonly<Record<string, { from: string; imports: string }>> = {
  "machines-import-only-xstate-and-machines": { from: "machines/planted.machine.ts", imports: "node:crypto" },
  "rules-are-pure": { from: "machines/planted.rules.ts", imports: "xstate" },
  "machines-wire-is-pure": { from: "machines/wire/planted.ts", imports: "../lease.machine.ts" },
  "services-import-only-services-machines-xstate": { from: "services/planted.ts", imports: "node:fs" },
  "adapters-never-import-statecharts": {
    from: "adapters/host/planted-chart.ts",
    imports: "../../machines/lease.machine.ts",
  },
  "adapters-import-only-ports-of-services": {
    from: "adapters/host/planted-service.ts",
    imports: "../../services/provide.ts",
  },
  "adapters-import-nothing-above": { from: "adapters/host/planted-above.ts", imports: "../../inspector/index.ts" },
  "adapters-of-one-kind-know-no-other-kind": {
    from: "adapters/host/planted-kind.ts",
    imports: "../store/sqlite/index.ts",
  },
  "no-sibling-adapter": { from: "adapters/transport/ws/planted.ts", imports: "../unix/index.ts" },
  "emulator-stands-alone": { from: "adapters/telegram/emulator/planted.ts", imports: "../../../services/ports.ts" },
  "adapters-never-import-the-emulator": { from: "adapters/telegram/planted.ts", imports: "./emulator/index.ts" },
  "inspector-receives-machines": { from: "inspector/planted.ts", imports: "../machines/lease.machine.ts" },
  "only-entries-import-index": { from: "services/planted-index.ts", imports: "../index.ts" },
  "no-circular": { from: "machines/planted-circle.ts", imports: "./planted-circle-2.ts" },
  "production-imports-no-test": { from: "services/planted-test.ts", imports: "../test/unit/lease.test.ts" },
  "production-imports-no-dev-dependency": { from: "adapters/host/planted-dev.ts", imports: "vitest" },
  "no-undeclared-package": { from: "adapters/host/planted-stranger.ts", imports: "stranger" },
  "no-unresolved": { from: "services/planted-typo.ts", imports: "./prots.ts" },
  "better-sqlite3-only-in-its-adapter": { from: "adapters/store/planted.ts", imports: "better-sqlite3" },
  "pg-only-in-its-adapter": { from: "adapters/store/sqlite/planted.ts", imports: "pg" },
  "grammy-only-in-its-adapter": { from: "adapters/host/planted-grammy.ts", imports: "grammy" },
  "grammy-types-only-in-its-adapter": { from: "adapters/host/planted-types.ts", imports: "@grammyjs/types" },
  "ws-only-in-its-adapter": { from: "adapters/telegram/client/planted.ts", imports: "ws" },
};

const installed = [
  ...["xstate", "commander", "better-sqlite3", "pg", "zod", "ws", "grammy", "@grammyjs/types"],
  ...["vitest", "stranger"],
];

let folder: string;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(path.join(os.tmpdir(), "partyline-rules-")));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function plant(name: string, tree: Tree): Promise<string> {
  const root = path.join(folder, name);
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(path.dirname(path.join(root, file)), { recursive: true });
    await writeFile(path.join(root, file), text);
  };
  const manifest = JSON.parse(await readFile("package.json", "utf8")) as { dependencies: Record<string, string> };
  manifest.dependencies["pg"] ??= "*";
  await write("package.json", JSON.stringify(manifest));
  for (const name of installed) {
    await write(`node_modules/${name}/package.json`, JSON.stringify({ name, version: "1.0.0", main: "index.js" }));
    await write(`node_modules/${name}/index.js`, "module.exports = {};\n");
  }
  for (const [file, specifiers] of Object.entries(tree)) {
    // Type-only imports: the rules must hold for them too, and TypeScript erases them before anybody else could see.
    const lines = specifiers.map((specifier, index) => `import type * as i${String(index)} from "${specifier}";`);
    await write(file, [...lines, "export {};", ""].join("\n"));
  }
  return root;
}

describe("the import rules", () => {
  it("accept a tree that keeps them, having seen all of it", async () => {
    const verdict = await cruiseTree(await plant("clean", cleanTree));

    expect(verdict.violations).toEqual([]);
    expect(verdict.unseen).toEqual([]);
    expect(verdict.cruised).toEqual(expect.arrayContaining(Object.keys(cleanTree)));
    expect(verdict.dependencies).toBe(Object.values(cleanTree).flat().length);
  });

  it("have a planted violation each", () => {
    expect(Object.keys(planted).sort()).toEqual(ruleNames().sort());
  });

  it.each(Object.entries(planted))("report %s by name", async (rule, { from, imports }) => {
    const back: Tree = rule === "no-circular" ? { "machines/planted-circle-2.ts": ["./planted-circle.ts"] } : {};
    const verdict = await cruiseTree(await plant(rule, { ...cleanTree, [from]: [imports], ...back }));

    expect(verdict.violations.map((violation) => violation.rule)).toContain(rule);
    const culprits = [from, ...Object.keys(back)];
    expect(verdict.violations.filter((violation) => !culprits.includes(violation.from))).toEqual([]);
  });
});
