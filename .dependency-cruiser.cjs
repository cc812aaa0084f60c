/**
 * The one direction: adapters → services/ports → machines. Each rule has a planted violation in
 * test/unit/project/dependency-rules.test.ts: change both together.
 *
 * Type-only imports count like all others (tsPreCompilationDeps): a type couples as much as a value.
 */

/** A package, where it is installed; its bare name covers one that is not, so that a rule does not depend on it. */
const pkg = (name) => [`^node_modules/${name}/`, `^${name}(/|$)`];
const production = "^((index|instance|line|options)\\.ts$|cli\\.ts$|machines/|services/|adapters/|inspector/|testing/)";
const ownCode =
  "^((index|instance|line|options)\\.ts$|cli\\.ts$|machines/|services/|adapters/|inspector/|testing/|examples/|test/|scripts/)";

const error = (name, comment, from, to) => ({ name, comment, severity: "error", from, to });

const onlyIn = (name, packages, folders) =>
  error(
    `${name}-only-in-its-adapter`,
    `${name} is an edge: nothing but ${folders} knows that it exists.`,
    { path: production, pathNot: folders },
    { path: packages.flatMap(pkg) },
  );

module.exports = {
  forbidden: [
    error(
      "machines-import-only-xstate-and-machines",
      "machines/ are decisions: no I/O, no Node module, no package but xstate, nothing of the layers above.",
      { path: "^machines/" },
      { pathNot: ["^machines/", ...pkg("xstate")] },
    ),
    error(
      "rules-are-pure",
      "*.rules.ts are pure functions: not even xstate, and no statechart.",
      { path: "^machines/.*\\.rules\\.ts$" },
      { path: ["\\.machine\\.ts$", ...pkg("xstate")] },
    ),
    error(
      "machines-wire-is-pure",
      "machines/wire/ holds pure types and constants that adapters share: no xstate, no statechart.",
      { path: "^machines/wire/" },
      { path: ["\\.machine\\.ts$", ...pkg("xstate")] },
    ),
    error(
      "services-import-only-services-machines-xstate",
      "services/ are the actors that machines invoke; what they do to the world goes through ports.",
      { path: "^services/" },
      { pathNot: ["^services/", "^machines/", ...pkg("xstate")] },
    ),
    error(
      "adapters-never-import-statecharts",
      "Adapters know ids, wire types and pure rules, never a *.machine.ts.",
      { path: "^adapters/" },
      { path: "^machines/.*\\.machine\\.ts$" },
    ),
    error(
      "adapters-import-only-ports-of-services",
      "Adapters implement ports; of services/ they see ports.ts (or the folder services/ports/) alone.",
      { path: "^adapters/" },
      { path: "^services/", pathNot: "^services/ports(\\.ts$|/)" },
    ),
    error(
      "adapters-import-nothing-above",
      "Adapters are edges: they are given what they need by the composition root.",
      { path: "^adapters/" },
      { path: "^((index|instance|line|options)\\.ts$|cli\\.ts$|inspector/|testing/|examples/|scripts/)" },
    ),
    error(
      "adapters-of-one-kind-know-no-other-kind",
      "Telegram, transport, store, host and grammy know nothing of each other.",
      { path: "^adapters/([^/]+)/" },
      { path: "^adapters/", pathNot: "^adapters/$1/" },
    ),
    error(
      "no-sibling-adapter",
      "Two implementations of one port share only files at the level of their kind, and adapters/transport/wire/.",
      { path: "^adapters/([^/]+)/([^/]+)/" },
      { path: "^adapters/$1/[^/]+/", pathNot: ["^adapters/$1/$2/", "^adapters/transport/wire/"] },
    ),
    error(
      "emulator-stands-alone",
      "adapters/telegram/emulator/ stands for Telegram itself: it is written against the Bot API, not against our code.",
      { path: "^adapters/telegram/emulator/" },
      { path: ownCode, pathNot: "^adapters/telegram/emulator/" },
    ),
    error(
      "adapters-never-import-the-emulator",
      "Only entries, examples and tests start the emulator; production talks to it over HTTP like to Telegram.",
      { path: "^(machines|services|inspector|adapters)/", pathNot: "^adapters/telegram/emulator/" },
      { path: "^adapters/telegram/emulator/" },
    ),
    error(
      "inspector-receives-machines",
      "The inspector shows any chart it is given; of ours it knows the types of the ports, and the properties it judges.",
      { path: "^inspector/" },
      {
        path: "^(machines|adapters|services|testing)/",
        pathNot: ["^services/ports(\\.ts$|/)", "^machines/(ids|invariants)\\.ts$"],
      },
    ),
    error(
      "only-entries-import-index",
      "index.ts is the composition root: the command line, examples and tests use it, nothing below does.",
      { pathNot: "^(cli\\.ts$|cli/|examples/|test/)" },
      { path: "^index\\.ts$" },
    ),
    error("no-circular", "A cycle is one file pretending to be two.", {}, { circular: true }),
    error(
      "production-imports-no-test",
      "What ships does not reach into test/, examples/ or scripts/.",
      { path: production },
      { path: "^(test|examples|scripts)/" },
    ),
    error(
      "production-imports-no-dev-dependency",
      "What ships runs with `dependencies` alone.",
      { path: production },
      { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["npm"] },
    ),
    error(
      "no-undeclared-package",
      "A package that package.json does not name is there by accident.",
      { path: ownCode },
      { dependencyTypes: ["npm-no-pkg", "npm-unknown"] },
    ),
    error("no-unresolved", "An import that leads nowhere.", {}, { couldNotResolve: true }),
    onlyIn("better-sqlite3", ["better-sqlite3", "@types/better-sqlite3"], "^adapters/store/sqlite/"),
    onlyIn("pg", ["pg", "@types/pg"], "^adapters/store/postgres/"),
    onlyIn("grammy", ["grammy"], "^adapters/(telegram|grammy)/"),
    onlyIn("grammy-types", ["@grammyjs/types"], "^(adapters/(telegram|grammy)/|(index|instance)\\.ts$)"),
    onlyIn("ws", ["ws", "@types/ws"], "^(adapters/transport|inspector)/"),
  ],
  options: {
    doNotFollow: { path: "^node_modules/" },
    exclude: { path: "^(dist|dist\\..*|coverage|test/interop/v4)/" },
    tsPreCompilationDeps: true,
    preserveSymlinks: true,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["types", "import", "node", "default"],
      extensions: [".ts", ".mjs", ".cjs", ".js", ".json", ".d.ts"],
    },
  },
};
