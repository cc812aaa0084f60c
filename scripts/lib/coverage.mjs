/**
 * Which numbered rule is checked where: reads the lists of ids, finds the ids in the titles of tests and among the named
 * invariants, and draws the table.
 *
 * An id is always written with its specification, `protocol/S-13`. Within one title further ids of the same specification
 * may follow it in short: `protocol/S-13, S-14 and P-20: …`. Only titles count (text in double quotes or backticks), never comments.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** @typedef {{ letters: string, first: number, last: number, words: string }} Family */
/** @typedef {{ spec: string, families: readonly Family[] }} Listed */
/** @typedef {{ id: string, where: string }} Claim one id, and the test file or the invariant that checks it */

const title = /"((?:\\.|[^"\\])*)"|`((?:\\.|[^`\\])*)`/g;
const qualified = /\b(protocol|threads|updates)\/([A-Z]{1,2}-\d+)((?:(?:, | and |, and )[A-Z]{1,2}-\d+\b)*)/g;

/** @returns {Listed[]} */
export function listedIds(/** @type {string} */ root) {
  const folder = path.join(root, "docs/ids");
  return readdirSync(folder)
    .sort()
    .map((file) => ({
      spec: path.basename(file, ".txt"),
      families: readFileSync(path.join(folder, file), "utf8").split("\n").filter(isListing).map(familyOf),
    }));
}

const isListing = (/** @type {string} */ line) => line !== "" && !line.startsWith("#");

/** @returns {Family} `S 1-100 scenarios` */
function familyOf(/** @type {string} */ line) {
  const match = /^([A-Z]{1,2}) (\d+)-(\d+) (.+)$/.exec(line);
  if (match === null) throw new Error(`A list of ids has a line that is no family: ${line}`);
  return { letters: String(match[1]), first: Number(match[2]), last: Number(match[3]), words: String(match[4]) };
}

export function isListed(/** @type {readonly Listed[]} */ lists, /** @type {string} */ id) {
  const [spec, letters, number] = id.split(/[/-]/);
  return lists.some(
    (each) =>
      each.spec === spec &&
      each.families.some(
        (family) => family.letters === letters && Number(number) >= family.first && Number(number) <= family.last,
      ),
  );
}

/** @returns {string[]} the ids that a text names, with those in short */
export function idsIn(/** @type {string} */ text) {
  return [...text.matchAll(qualified)].flatMap(([, spec, id, rest]) => [
    `${spec}/${id}`,
    ...[...String(rest).matchAll(/[A-Z]{1,2}-\d+/g)].map(([short]) => `${spec}/${short}`),
  ]);
}

/** @returns {Claim[]} in order of file and line */
export function claims(/** @type {string} */ root) {
  const tests = readdirSync(path.join(root, "test"), { recursive: true, encoding: "utf8" })
    .map((file) => `test/${file.replaceAll("\\", "/")}`)
    .filter((file) => file.endsWith(".ts") && !file.startsWith(ownTests) && !file.includes("node_modules"))
    .sort();
  return [...tests.flatMap((file) => claimsOfFile(root, file)), ...claimsOfInvariants(root)];
}

/** They are full of examples. */
const ownTests = "test/unit/project/";

/** @returns {Claim[]} */
function claimsOfFile(/** @type {string} */ root, /** @type {string} */ file) {
  return readFileSync(path.join(root, file), "utf8")
    .split("\n")
    .filter((line) => !/^\s*(?:\/?\*|\/\/)/.test(line))
    .flatMap((line) => [...line.matchAll(title)].flatMap((match) => idsIn(match[1] ?? match[2] ?? "")))
    .map((id) => ({ id, where: file }));
}

/** @returns {Claim[]} what every model world, simulation and the inspector evaluate */
function claimsOfInvariants(/** @type {string} */ root) {
  const folder = path.join(root, "machines/invariants");
  const source = readdirSync(folder)
    .map((file) => readFileSync(path.join(folder, file), "utf8"))
    .join("\n");
  return [...source.matchAll(/name: "([^"]+)",\s*ids: \[([^\]]*)\]/g)].flatMap(([, name, ids]) =>
    idsIn(String(ids)).map((id) => ({ id, where: `invariant ${name}` })),
  );
}

/** @returns {string[]} the rules that something else holds in place of; docs/invariants.md says what */
export function decidedOtherwise(/** @type {string} */ root) {
  const source = readFileSync(path.join(root, "machines/invariants/beyond.ts"), "utf8");
  return [...source.matchAll(/ids: \[([^\]]*)\],\s*instead:/g)].flatMap(([, ids]) => idsIn(String(ids)));
}

/** @returns {string[]} the ids that a drawn table calls covered */
export const declaredIn = (/** @type {string} */ page) =>
  [...page.matchAll(/^\| ((?:protocol|threads|updates)\/[A-Z]{1,2}-\d+) \|/gm)].map((match) => String(match[1]));

/** @returns {string} docs/coverage.md */
export function drawTable(
  /** @type {readonly Listed[]} */ lists,
  /** @type {readonly Claim[]} */ found,
  /** @type {readonly string[]} */ otherwise,
) {
  /** @type {Map<string, Set<string>>} */
  const places = new Map();
  for (const { id, where } of found) places.set(id, (places.get(id) ?? new Set()).add(where));
  return [
    "# Which rule is checked where",
    [
      "Written by `npm run coverage-table` from the titles of tests and the ids of",
      "[machines/invariants.ts](../machines/invariants.ts): name the rule in the title of its test, then run it. The lists of",
      "rules are in `docs/ids/`. A rule without a row is not checked under its own name; other tests may touch it. What was",
      "decided otherwise, and what holds instead, is told in [invariants.md](invariants.md#what-was-decided-otherwise).",
    ].join("\n"),
    ...lists.flatMap(({ spec, families }) => [
      `## ${spec}`,
      ...families.flatMap((family) => familySection(spec, family, { places, otherwise })),
    ]),
  ]
    .join("\n\n")
    .concat("\n");
}

/** @returns {string[]} */
function familySection(
  /** @type {string} */ spec,
  /** @type {Family} */ family,
  /** @type {{ places: ReadonlyMap<string, ReadonlySet<string>>, otherwise: readonly string[] }} */ {
    places,
    otherwise,
  },
) {
  const ids = Array.from(
    { length: family.last - family.first + 1 },
    (_, index) => `${family.letters}-${family.first + index}`,
  );
  const rows = ids.flatMap((id) => {
    const where = places.get(`${spec}/${id}`);
    return where === undefined ? [] : [`| ${spec}/${id} | ${[...where].map((each) => `\`${each}\``).join("<br>")} |`];
  });
  const unnamed = ids.filter((id) => !places.has(`${spec}/${id}`));
  const decided = unnamed.filter((id) => otherwise.includes(`${spec}/${id}`));
  const missing = unnamed.filter((id) => !decided.includes(id));
  return [
    `### ${family.letters}: ${family.words} (${rows.length} of ${ids.length})`,
    ...(rows.length === 0 ? [] : [["| Rule | Checked by |", "| --- | --- |", ...rows].join("\n")]),
    ...(decided.length === 0 ? [] : [`Decided otherwise: ${decided.join(", ")}.`]),
    ...(missing.length === 0 ? [] : [`Not by name: ${missing.join(", ")}.`]),
  ];
}
