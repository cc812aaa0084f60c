/**
 * Which numbered rule is checked where: reads the lists of ids, finds the ids in the titles of tests and among the named
 * invariants, and draws the table.
 *
 * An id is always written with its specification, `protocol/S-13`. Within one title further ids of the same specification
 * may follow it in short: `protocol/S-13, S-14 and P-20: …`. Only titles count (text in double quotes or backticks), never comments.
 * What docs/invariants.md tells of beside its invariants (in time, elsewhere, decided otherwise) counts, with a link to where it is told.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** @typedef {{ letters: string, first: number, last: number, words: string }} Family */
/** @typedef {{ spec: string, families: readonly Family[] }} Listed */
/** @typedef {{ id: string, where: string }} Claim one id, and the test file or the invariant that checks it, or a link to what is told of it */

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
  return [...tests.flatMap((file) => claimsOfFile(root, file)), ...claimsOfInvariants(root), ...claimsOfThePage(root)];
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

/** Sections of docs/invariants.md, by the list in machines/invariants/ that each shows. */
const sections = {
  bounds: "What must come about in time",
  elsewhere: "What is checked where it is",
  superseded: "What was decided otherwise",
};

/** @returns {Claim[]} what docs/invariants.md tells of beside the invariants */
function claimsOfThePage(/** @type {string} */ root) {
  const source = ["beyond", "superseded"]
    .map((file) => readFileSync(path.join(root, `machines/invariants/${file}.ts`), "utf8"))
    .join("\n");
  return Object.entries(sections).flatMap(([list, heading]) => {
    const [, rest = ""] = source.split(`export const ${list}:`);
    const [entries = ""] = rest.split("export const");
    const link = `[${heading}](invariants.md#${heading.toLowerCase().replaceAll(" ", "-")})`;
    return [...entries.matchAll(/\bids: \[([^\]]*)\]/g)].flatMap(([, ids]) =>
      idsIn(String(ids)).map((id) => ({ id, where: link })),
    );
  });
}

/** @returns {string[]} the ids that a drawn table calls covered */
export const declaredIn = (/** @type {string} */ page) =>
  [...page.matchAll(/^\| ((?:protocol|threads|updates)\/[A-Z]{1,2}-\d+) \|/gm)].map((match) => String(match[1]));

/** @returns {string} docs/coverage.md */
export function drawTable(/** @type {readonly Listed[]} */ lists, /** @type {readonly Claim[]} */ found) {
  /** @type {Map<string, Set<string>>} */
  const places = new Map();
  for (const { id, where } of found) places.set(id, (places.get(id) ?? new Set()).add(where));
  return [
    "# Which rule is checked where",
    [
      "Written by `npm run coverage-table` from the titles of tests and the ids of",
      "[machines/invariants.ts](../machines/invariants.ts): name the rule in the title of its test, then run it. The lists of",
      "rules are in `docs/ids/`. A rule without a row is not checked under its own name; other tests may touch it. A link leads",
      "to where [invariants.md](invariants.md) tells what holds the rule in time, where it is checked, or what was decided instead.",
    ].join("\n"),
    ...lists.flatMap(({ spec, families }) => [
      `## ${spec}`,
      ...families.flatMap((family) => familySection(spec, family, places)),
    ]),
  ]
    .join("\n\n")
    .concat("\n");
}

/** @returns {string[]} */
function familySection(
  /** @type {string} */ spec,
  /** @type {Family} */ family,
  /** @type {ReadonlyMap<string, ReadonlySet<string>>} */ places,
) {
  const ids = Array.from(
    { length: family.last - family.first + 1 },
    (_, index) => `${family.letters}-${family.first + index}`,
  );
  const rows = ids.flatMap((id) => {
    const where = places.get(`${spec}/${id}`);
    return where === undefined ? [] : [`| ${spec}/${id} | ${[...where].map(shown).join("<br>")} |`];
  });
  return [
    `### ${family.letters}: ${family.words} (${rows.length} of ${ids.length})`,
    ...(rows.length === 0 ? [] : [["| Rule | Checked by |", "| --- | --- |", ...rows].join("\n")]),
    ...(rows.length === ids.length ? [] : [`Not by name: ${missing(ids, spec, places).join(", ")}.`]),
  ];
}

const shown = (/** @type {string} */ where) => (where.startsWith("[") ? where : `\`${where}\``);

const missing = (
  /** @type {readonly string[]} */ ids,
  /** @type {string} */ spec,
  /** @type {ReadonlyMap<string, unknown>} */ places,
) => ids.filter((id) => !places.has(`${spec}/${id}`));
