import { ESLint, type Linter } from "eslint";
import { parser } from "typescript-eslint";
import { describe, expect, it } from "vitest";

const configured = new ESLint();

/**
 * The rules that the linter breaks over this text under this file name. Only ESLint's own rules, with the options that our
 * configuration gives them for that file: those of typescript-eslint need the file in a program, and are not ours to test.
 */
async function complaints(filePath: string, code: string): Promise<string[]> {
  const { rules } = (await configured.calculateConfigForFile(filePath)) as { rules: Linter.RulesRecord };
  const ours = Object.fromEntries(Object.entries(rules).filter(([name]) => !name.startsWith("@")));
  const eslint = new ESLint({
    overrideConfigFile: true,
    overrideConfig: [{ files: ["**/*.ts"], languageOptions: { parser }, rules: ours }],
  });
  const [result] = await eslint.lintText(code, { filePath });
  return result?.messages.map((message) => message.ruleId ?? message.message) ?? [];
}

describe("in machines/ the linter refuses", () => {
  it.each([
    ["the present", "export const at = Date.now();", "no-restricted-properties"],
    ["a date of the present", "export const at = new Date();", "no-restricted-syntax"],
    ["a monotonic clock", "export const at = performance.now();", "no-restricted-properties"],
    ["chance", "export const n = Math.random();", "no-restricted-properties"],
    ["setTimeout", "setTimeout(() => {}, 1);", "no-restricted-globals"],
    ["setInterval", "setInterval(() => {}, 1);", "no-restricted-globals"],
    ["setImmediate", "setImmediate(() => {});", "no-restricted-globals"],
    ["process", "export const home = process.env;", "no-restricted-globals"],
    ["console", 'console.log("x");', "no-restricted-globals"],
    ["an async function", "export async function f() {}", "no-restricted-syntax"],
    ["an async arrow", "export const f = async () => {};", "no-restricted-syntax"],
    ["await", "await f();", "no-restricted-syntax"],
    ["Promise", "export const p = Promise.resolve();", "no-restricted-globals"],
    ["a '*' transition", 'export const on = { "*": "idle" };', "no-restricted-syntax"],
    ["sendParent", 'import { sendParent } from "xstate"; export { sendParent };', "no-restricted-syntax"],
    ["an empty catch", "try { f(); } catch {}", "no-empty"],
    ["five parameters", "export function f(a, b, c, d, e) {}", "max-params"],
    ["a function of 80 lines", `export function f() {\n${"g();\n".repeat(80)}}`, "max-lines-per-function"],
    ["a file of 401 lines", "f();\n".repeat(401), "max-lines"],
  ])("%s", async (_what, code, rule) => {
    expect(await complaints("machines/planted.machine.ts", code)).toContain(rule);
  });

  it("nothing in a chart that keeps the rules", async () => {
    const code = `import { setup } from "xstate";
export const m = setup({}).createMachine({ initial: "idle", states: { idle: { on: { "lease.lost": "idle" } } } });
export const at = (nowMs: number) => new Date(nowMs);`;
    expect(await complaints("machines/planted.machine.ts", code)).toEqual([]);
  });
});

describe("the clock and chance", () => {
  const code = "export const n = Math.random() + Date.now() + new Date().getTime();";

  it.each(["services/planted.ts", "adapters/store/planted.ts", "inspector/planted.ts", "index.ts"])(
    "are refused in %s",
    async (filePath) => {
      const rules = ["no-restricted-properties", "no-restricted-properties", "no-restricted-syntax"];
      expect(await complaints(filePath, code)).toEqual(rules);
    },
  );

  it.each(["adapters/host/planted.ts", "test/unit/planted.test.ts"])("are allowed in %s", async (filePath) => {
    expect(await complaints(filePath, code)).toEqual([]);
  });
});

describe("sleeping", () => {
  it("is refused in a test, by setTimeout or by a promise of one", async () => {
    const code = `import { setTimeout as sleep } from "node:timers/promises"; setTimeout(() => {}, 10); void sleep(10);`;
    const found = await complaints("test/unit/planted.test.ts", code);
    expect(found.sort()).toEqual(["no-restricted-globals", "no-restricted-imports"]);
  });

  it("is allowed in test/support/, where conditions are waited for", async () => {
    expect(await complaints("test/support/planted.ts", "setTimeout(() => {}, 10);")).toEqual([]);
  });
});
