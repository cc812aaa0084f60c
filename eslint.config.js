/**
 * What the linter holds us to. The bans for machines/ are tested by planted violations in
 * test/unit/project/lint-rules.test.ts: change both together.
 */
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

const clockMessage = "Time and chance enter through ports: take nowMs or an id as an argument.";

const noClockOrChance = [
  { object: "Date", property: "now", message: clockMessage },
  { object: "performance", property: "now", message: clockMessage },
  { object: "Math", property: "random", message: clockMessage },
];

/** A date made of something is arithmetic; only `new Date()` and `Date()` read the clock. */
const noPresentDate = [
  { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: clockMessage },
  { selector: "CallExpression[callee.name='Date']", message: clockMessage },
];

const sleepMessage = "Wait on a condition or on virtual time, never for a while (helpers are in test/support/).";

const inMachines = (/** @type {string} */ what) => `${what} in machines/: decisions are pure, effects are actor slots.`;

const machineGlobals = [
  "setTimeout",
  "setInterval",
  "setImmediate",
  "queueMicrotask",
  "process",
  "console",
  "Promise",
  "fetch",
  "performance",
  "crypto",
  "globalThis",
].map((name) => ({ name, message: inMachines(`No ${name}`) }));

const machineSyntax = [
  ...noPresentDate,
  { selector: ":function[async=true]", message: inMachines("No async function") },
  { selector: "AwaitExpression", message: inMachines("No await") },
  { selector: "ForOfStatement[await=true]", message: inMachines("No await") },
  { selector: "ImportExpression", message: inMachines("No import()") },
  {
    selector: "Property[key.value='*']",
    message: "No '*' transition: it swallows xstate.error.actor.*, and the chart stays active over a dead child.",
  },
  {
    selector: "Identifier[name='sendParent']",
    message: "No sendParent: the pure transition() of a child throws. Emit a fact or return output.",
  },
];

export default defineConfig(
  globalIgnores(["dist/", "dist.*/", "coverage/", "test/interop/v4/"]),
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  {
    files: ["**/*.{ts,js,mjs,cjs}"],
    rules: {
      eqeqeq: "error",
      "no-empty": ["error", { allowEmptyCatch: false }],
      "prefer-const": "error",
      "no-var": "error",
      "object-shorthand": "error",
    },
  },
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
      "@typescript-eslint/no-empty-function": "off",
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      // Ports answer with promises; an implementation that needs none is still one.
      "@typescript-eslint/require-await": "off",
      // `type` and `interface` events of one union, and `{}` slots typed by assertion, are XState's way.
      "@typescript-eslint/consistent-type-assertions": "off",
      "@typescript-eslint/no-unnecessary-type-parameters": "off",
      "max-lines": ["error", { max: 400, skipBlankLines: true, skipComments: true }],
      "max-lines-per-function": ["error", { max: 70, skipBlankLines: true, skipComments: true }],
      "max-params": ["error", 4],
    },
  },
  {
    // Where the present and chance come in: the host adapter, and the emulator's one clock.
    files: ["**/*.ts"],
    ignores: ["adapters/host/**", "adapters/telegram/emulator/clock.ts", "**/page/**", "test/**"],
    rules: {
      "no-restricted-properties": ["error", ...noClockOrChance],
      "no-restricted-syntax": ["error", ...noPresentDate],
    },
  },
  {
    files: ["machines/**/*.ts"],
    rules: {
      "no-restricted-globals": ["error", ...machineGlobals],
      "no-restricted-syntax": ["error", ...machineSyntax],
    },
  },
  {
    files: ["test/**/*.ts"],
    rules: {
      "max-lines-per-function": "off",
      "@typescript-eslint/no-non-null-assertion": "off",
      "no-restricted-globals": ["error", { name: "setTimeout", message: sleepMessage }],
      "no-restricted-imports": [
        "error",
        { paths: ["timers", "node:timers", "timers/promises", "node:timers/promises"].map(asBannedTimers) },
      ],
    },
  },
  {
    files: ["test/support/**/*.ts"],
    rules: { "no-restricted-globals": "off", "no-restricted-imports": "off" },
  },
);

function asBannedTimers(/** @type {string} */ name) {
  return { name, message: sleepMessage };
}
