/**
 * Draws the statecharts: docs/charts/<chart>.md for each, and the overview in README.md between its markers.
 *
 *   npm run diagrams                 writes the files
 *   npm run diagrams -- --check      writes nothing; exits 1 and names each file that is stale
 *   npm run diagrams -- --root DIR   another tree's docs and README, for tests of this script
 *
 * Runs through scripts/run-ts.mjs, because it reads the real machine objects, the ones that run. Owns: what a chart looks
 * like as text. Does not own: what it does.
 *
 * Mermaid cannot draw an arrow between a compound state and its own inside. Such an arrow starts at a node "anywhere in X"
 * and ends at the state in which X is entered.
 */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { activationMachine } from "../machines/activation.machine.ts";
import { capabilityMachine } from "../machines/capability.machine.ts";
import { cleanupMachine } from "../machines/cleanup.machine.ts";
import { deliveryMachine } from "../machines/delivery.machine.ts";
import { groupingMachine } from "../machines/grouping.machine.ts";
import { handoffDonorMachine } from "../machines/handoffDonor.machine.ts";
import { handoffRecipientMachine } from "../machines/handoffRecipient.machine.ts";
import { instanceMachine } from "../machines/instance.machine.ts";
import { leaseMachine } from "../machines/lease.machine.ts";
import { ownerMachine } from "../machines/owner.machine.ts";
import { membershipMachine } from "../machines/membership.machine.ts";
import { pollingMachine } from "../machines/polling.machine.ts";
import { provisioningMachine } from "../machines/provisioning.machine.ts";
import { queueMachine } from "../machines/queue.machine.ts";
import { reconciliationMachine } from "../machines/reconciliation.machine.ts";
import { registrationMachine } from "../machines/registration.machine.ts";
import { rerouteMachine } from "../machines/reroute.machine.ts";

/** @typedef {import("xstate").AnyStateNode} Node */
/** @typedef {{ from: Node, label: string, targets: readonly Node[], actions: string }} Arrow */

const machines = [
  instanceMachine,
  leaseMachine,
  ownerMachine,
  membershipMachine,
  activationMachine,
  pollingMachine,
  deliveryMachine,
  reconciliationMachine,
  rerouteMachine,
  capabilityMachine,
  registrationMachine,
  provisioningMachine,
  cleanupMachine,
  queueMachine,
  groupingMachine,
  handoffDonorMachine,
  handoffRecipientMachine,
];
/** Slots whose production filling runs charts of another name. */
const runsCharts = new Map([
  ["poller", "polling"],
  ["dispatcher", "delivery"],
  ["endpoint", "registration"],
]);

const markers = {
  begin: "<!-- diagrams:begin (npm run diagrams writes this) -->",
  end: "<!-- diagrams:end -->",
};

const { values } = parseArgs({
  options: { check: { type: "boolean", default: false }, root: { type: "string", default: process.cwd() } },
});

async function main(/** @type {string} */ root, /** @type {boolean} */ isCheck) {
  const problems = await unlistedCharts();
  for (const [file, text] of await drawAll(root)) {
    const absolute = path.join(root, file);
    const present = existsSync(absolute) ? await readFile(absolute, "utf8") : null;
    if (present === text) continue;
    if (isCheck) problems.push(`${file} is stale: run \`npm run diagrams\`.`);
    else {
      await mkdir(path.dirname(absolute), { recursive: true });
      await writeFile(absolute, text);
      console.log(`Wrote ${file}.`);
    }
  }
  for (const problem of problems) console.error(problem);
  if (problems.length === 0) console.log(`${machines.length} charts are drawn.`);
  return problems.length === 0 ? 0 : 1;
}

/** A chart that nobody draws would never be missed. */
async function unlistedCharts() {
  const files = (await readdir("machines")).filter((file) => file.endsWith(".machine.ts"));
  const drawn = new Set(machines.map((machine) => `${machine.id}.machine.ts`));
  return files
    .filter((file) => !drawn.has(file))
    .map((file) => `machines/${file} is not listed in scripts/diagrams.mjs.`);
}

/** @returns {Promise<Map<string, string>>} file → text */
async function drawAll(/** @type {string} */ root) {
  const files = new Map(machines.map((machine) => [`docs/charts/${machine.id}.md`, chartPage(machine.root)]));
  const readme = await readFile(path.join(root, "README.md"), "utf8");
  const [before, rest] = readme.split(markers.begin);
  const after = rest?.split(markers.end)[1];
  if (before === undefined || after === undefined) throw new Error("README.md has lost its markers for the diagrams.");
  return files.set("README.md", `${before}${markers.begin}\n\n${overview()}\n\n${markers.end}${after}`);
}

// ------------------------------------------------------------------------------------------------- one chart

function chartPage(/** @type {Node} */ root) {
  const arrows = descendants(root).flatMap(arrowsOf);
  const inPlace = descendants(root).flatMap((node) => inPlaceLines(node, arrows));
  const slots = [...new Set(descendants(root).flatMap((node) => node.invoke.map(slotOf)))].sort();
  return [
    `# ${root.id}`,
    `Drawn by \`npm run diagrams\` from [machines/${root.id}.machine.ts](../../machines/${root.id}.machine.ts): change the chart, not this page.`,
    `An arrow reads _event [guard]_; \`after\` is a delay by name, \`done\` and \`failed\` are a slot's answer. In parentheses: the slots that a state invokes.`,
    fenced(["stateDiagram-v2", ...body(root, arrows)]),
    slots.length === 0 ? [] : `Slots: ${slots.map((slot) => `\`${slot}\``).join(", ")}.`,
    inPlace.length === 0 ? [] : ["Taken without leaving the state:", inPlace.join("\n")],
  ]
    .flat()
    .join("\n\n")
    .concat("\n");
}

/** States first, nested; then every arrow at the top, because an arrow may cross borders. */
function body(/** @type {Node} */ root, /** @type {readonly Arrow[]} */ arrows) {
  /** @type {Map<string, string[]>} */
  const edges = new Map();
  /** @type {Set<Node>} */
  const hubs = new Set();
  for (const { from, label, targets } of arrows)
    for (const target of targets) {
      const isInside = isRelative(from, target) && isCompound(from);
      if (isInside) hubs.add(from);
      const start = isInside ? hubId(from) : idOf(from);
      const end = idOf(isRelative(from, target) ? entryOf(target) : target);
      const key = `${start} --> ${end}`;
      edges.set(key, [...(edges.get(key) ?? []), label]);
    }
  return [
    ...inside(root, hubs, 1),
    ...[...edges].map(([edge, labels]) => `  ${edge} : ${[...new Set(labels)].join(" <br> ")}`),
    ...descendants(root)
      .filter((node) => node.type === "final" && node.parent === root)
      .map((node) => `  ${idOf(node)} --> [*]`),
  ];
}

/** @returns {string[]} */
function inside(/** @type {Node} */ parent, /** @type {ReadonlySet<Node>} */ hubs, /** @type {number} */ depth) {
  const indent = "  ".repeat(depth);
  const lines = childrenOf(parent).flatMap((node) => {
    const head = `${indent}state "${titleOf(node)}" as ${idOf(node)}`;
    return isCompound(node) ? [`${head} {`, ...inside(node, hubs, depth + 1), `${indent}}`] : [head];
  });
  const hub = hubs.has(parent) ? [`${indent}state "anywhere in ${parent.key}" as ${hubId(parent)}`] : [];
  const first = parent.initial?.target?.[0];
  return [...(first === undefined ? [] : [`${indent}[*] --> ${idOf(first)}`]), ...hub, ...lines];
}

const titleOf = (/** @type {Node} */ node) =>
  node.invoke.length === 0 ? node.key : `${node.key} (${node.invoke.map(slotOf).join(", ")})`;

/** @returns {string[]} one line for all that a state ignores, one for each event that it acts on */
function inPlaceLines(/** @type {Node} */ node, /** @type {readonly Arrow[]} */ arrows) {
  const where = node.path.length === 0 ? "anywhere" : `\`${node.path.join(".")}\``;
  const own = arrows.filter(({ from, targets }) => from === node && targets.length === 0);
  const ignored = own.filter(({ actions }) => actions === "").map(({ label }) => label);
  const acted = own
    .filter(({ actions }) => actions !== "")
    .map(({ label, actions }) => `- ${where}, ${label}: ${actions}`);
  return [...acted, ...(ignored.length === 0 ? [] : [`- ${where}, ignored: ${ignored.join(", ")}`])];
}

// -------------------------------------------------------------------------------------------------- overview

/** The instance chart with only its online state opened, and who runs whom. */
function overview() {
  const { root } = instanceMachine;
  const online = childrenOf(root).find(({ key }) => key === "online");
  if (online === undefined) throw new Error("the instance chart has no state `online` to open in the overview");
  return [
    "One instance:",
    fenced([
      "stateDiagram-v2",
      `  [*] --> ${shownAs(entryOf(root))}`,
      ...childrenOf(root).flatMap((node) => (node === online ? openedState(node) : [`  ${idOf(node)}`])),
      ...overviewEdges(root),
    ]),
    "Which chart runs which, and by which slot where it has another name:",
    fenced(["flowchart LR", ...hosting()]),
  ].join("\n\n");
}

/** Of `online` the next level is shown, of every other state only itself. */
const shownAs = (/** @type {Node} */ { path: [first, second] }) =>
  first === "online" && second !== undefined ? `online_${second}` : String(first);

const openedState = (/** @type {Node} */ node) => [
  `  state "${node.key}" as ${idOf(node)} {`,
  `    [*] --> ${shownAs(entryOf(node))}`,
  `    state "anywhere online" as ${hubId(node)}`,
  ...childrenOf(node).map((child) => `    state "${child.key}" as ${idOf(child)}`),
  "  }",
];

function overviewEdges(/** @type {Node} */ root) {
  /** @type {Map<string, Set<string>>} */
  const edges = new Map();
  for (const { from, label, targets } of descendants(root).flatMap(arrowsOf))
    for (const target of targets) {
      const [start, end] = [shownAs(from), shownAs(target)];
      if (start === end) continue;
      const key = `${start === "online" ? hubId(from) : start} --> ${end}`;
      edges.set(key, (edges.get(key) ?? new Set()).add(label.replace(/ \[.*$/, "")));
    }
  return [...edges].map(([edge, words]) => `  ${edge} : ${[...words].join(" <br> ")}`);
}

/** Child charts and companions, as the slots name them. */
function hosting() {
  const names = new Set(machines.map((machine) => machine.id));
  const lines = machines.flatMap(({ id, root }) =>
    descendants(root)
      .flatMap((node) => node.invoke.map(slotOf))
      .flatMap((slot) => {
        const chart = runsCharts.get(slot) ?? slot;
        if (!names.has(chart)) return [];
        return slot === chart ? [`  ${id} --> ${chart}`] : [`  ${id} -->|${slot}| ${chart}`];
      }),
  );
  return [...new Set(lines)];
}

// ---------------------------------------------------------------------------------------------- reading a chart

/** @returns {Node[]} the node and all below it, in the order of the file */
function descendants(/** @type {Node} */ node) {
  return [node, ...childrenOf(node).flatMap(descendants)];
}

/** @returns {Node[]} */
function childrenOf(/** @type {Node} */ node) {
  return Object.values(node.states);
}

const isCompound = (/** @type {Node} */ node) => childrenOf(node).length > 0;
const idOf = (/** @type {Node} */ node) => (node.path.length === 0 ? node.id : node.path.join("_"));
const hubId = (/** @type {Node} */ node) => `${idOf(node)}_anywhere`;

/** One is the other, or lies inside it. */
const isRelative = (/** @type {Node} */ a, /** @type {Node} */ b) => {
  const [short, long] = a.path.length <= b.path.length ? [a.path, b.path] : [b.path, a.path];
  return short.every((key, index) => long[index] === key);
};

/** @returns {Node} the innermost state in which a state is entered */
function entryOf(/** @type {Node} */ node) {
  const first = node.initial?.target?.[0];
  return first === undefined ? node : entryOf(first);
}

/** @returns {Arrow[]} */
function arrowsOf(/** @type {Node} */ node) {
  const timed = node.after.map((each) => ({ each, event: `after ${String(each.delay)}` }));
  const named = [...node.transitions].flatMap(([type, list]) =>
    type.startsWith("xstate.after.") ? [] : list.map((each) => ({ each, event: eventWord(node, type) })),
  );
  const immediate = (node.always ?? []).map((each) => ({ each, event: "at once" }));
  return [...named, ...timed, ...immediate].map(({ each, event }) => {
    const guard = each.guard === undefined ? "" : ` [${guardWord(each.guard)}]`;
    return {
      from: node,
      label: clean(`${event}${guard}`),
      targets: each.target ?? [],
      actions: actionWords(each.actions),
    };
  });
}

function eventWord(/** @type {Node} */ node, /** @type {string} */ type) {
  const match = /^xstate\.(done|error)\.actor\.(.*)$/.exec(type);
  if (match === null) return type.startsWith("xstate.done.state.") ? "done" : type;
  const invoked = node.invoke.find(({ id }) => id === match[2]);
  const verb = match[1] === "done" ? "done" : "failed";
  return invoked === undefined ? verb : `${slotOf(invoked)} ${verb}`;
}

function slotOf(/** @type {{ src: unknown }} */ { src }) {
  if (typeof src !== "string") throw new Error("a chart invokes logic that is not a named slot");
  return src;
}

/** @returns {string} a guard by name, or an inline one by its own words */
function guardWord(/** @type {unknown} */ guard) {
  if (typeof guard === "string") return guard;
  if (typeof guard === "object" && guard !== null && "type" in guard) return String(guard.type);
  if (typeof guard !== "function") return "…";
  if ("guards" in guard && Array.isArray(guard.guards)) {
    const words = guard.guards.map(guardWord);
    return words.length === 1 ? `not ${words[0]}` : words.join(" and ");
  }
  if ("stateValue" in guard) return `in ${String(guard.stateValue).replace(/^#\w+\./, "")}`;
  return expressionOf(String(guard));
}

/** `({ event }) => event.output.kind === "granted"` → `kind = granted` */
function expressionOf(/** @type {string} */ source) {
  const expression = source
    .replace(/\s+/g, " ")
    .replace(/^\(?\{.*?\}\)? => /, "")
    .replace(/\b(event\.)?output\.|\bevent\.|\bcontext\./g, "")
    .replace(/\s===\s/g, " = ")
    .replace(/\s!==\s/g, " ≠ ")
    .replace(/\s&&\s/g, " and ")
    .replace(/\s\|\|\s/g, " or ")
    .replace(/"/g, "");
  return expression.length <= 60 && !expression.includes("=>") ? expression : "…";
}

function actionWords(/** @type {readonly unknown[]} */ actions) {
  const words = actions.map((action) => {
    if (typeof action === "string") return action;
    if (typeof action !== "object" && typeof action !== "function") return "acts";
    return action !== null && "type" in action ? String(action.type) : "acts";
  });
  return words
    .map((word) =>
      word
        .replace(/^xstate\.assign$/, "remembers")
        .replace(/^xstate\.emit$/, "tells")
        .replace(/^xstate\./, ""),
    )
    .join(", ");
}

/** What Mermaid reads as syntax inside a label. */
const clean = (/** @type {string} */ text) =>
  text
    .replace(/[:;#{}]/g, " ")
    .replace(/\s+/g, " ")
    .trim();

const fenced = (/** @type {readonly string[]} */ lines) => ["```mermaid", ...lines, "```"].join("\n");

process.exitCode = await main(values.root, values.check);
