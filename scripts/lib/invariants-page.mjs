/**
 * Draws docs/invariants.md: every invariant with its sentence, its rules and the worlds that judge it.
 *
 * Owns: the page's words. Does not own: the invariants, which parts of the view a world shows (each world says so itself).
 */
import { invariants } from "../../machines/invariants.ts";
import { bounds, elsewhere } from "../../machines/invariants/beyond.ts";
import { superseded } from "../../machines/invariants/superseded.ts";
import { activationParts } from "../../test/model/worlds/activation.world.ts";
import { deliveryParts } from "../../test/model/worlds/delivery.world.ts";
import { handoffParts } from "../../test/model/worlds/handoff.world.ts";
import { rerouteParts } from "../../test/model/worlds/reroute.world.ts";
import { leaseParts } from "../../test/model/worlds/lease.world.ts";
import { membershipParts } from "../../test/model/worlds/membership.world.ts";
import { ownerParts } from "../../test/model/worlds/owner.world.ts";
import { pollingParts } from "../../test/model/worlds/polling.world.ts";
import { queueParts as queueModelParts } from "../../test/model/worlds/queue.world.ts";
import { registrationParts } from "../../test/model/worlds/registration.world.ts";
import { queueParts } from "../../test/property/queue-parts.ts";
import {
  endpointParts,
  handoverParts,
  ledgerParts,
  ownerFileParts,
  peerParts,
} from "../../test/property/wire-parts.ts";
import { dependingOnTheAsker, storeParts } from "../../test/unit/store/store-parts.ts";
import { busWorldParts } from "../../testing/simulator/bus-world.ts";
import { leaseWorldParts } from "../../testing/simulator/lease-world.ts";

/** Who judges, in the order of the table. `walks`: worlds of the explorer are also walked at random, wider than exhausted. */
/** @type {readonly (readonly [string, readonly string[]])[]} */
export const worlds = [
  ["explorer and walks: lease", leaseParts],
  ["explorer: owner", ownerParts],
  ["explorer and walks: registration", registrationParts],
  ["explorer and walks: polling", pollingParts],
  ["explorer and walks: delivery", deliveryParts],
  ["explorer: handoff", handoffParts],
  ["explorer: reroute", rerouteParts],
  ["explorer: activation", activationParts],
  ["explorer: membership", membershipParts],
  ["explorer: queue", queueModelParts],
  ["walks: queue", queueParts],
  ["walks: store", storeParts],
  ["walks: request ledger", ledgerParts],
  ["walks: unix endpoints", endpointParts],
  ["walks: v1 owner file", ownerFileParts],
  ["walks: leader and followers", peerParts],
  ["walks: handoffs", handoverParts],
  ["simulator: lease", leaseWorldParts],
  ["simulator: whole instances", busWorldParts],
];

/** @returns {string[]} worlds that show all that the invariant needs */
export const judgesOf = (/** @type {{ name: string, needs: readonly string[] }} */ { name, needs }) =>
  worlds
    .filter(([, parts]) => needs.every((each) => parts.includes(each)))
    .map(([world]) => world)
    .filter((world) => world !== "walks: store" || !dependingOnTheAsker.includes(name));

/** Rules that this page speaks of. */
export const rulesTold = () => [...invariants, ...bounds, ...elsewhere, ...superseded].flatMap(({ ids }) => ids);

const row = (/** @type {readonly string[]} */ cells) => `| ${cells.join(" | ")} |`;
const table = (/** @type {readonly string[]} */ heads, /** @type {readonly (readonly string[])[]} */ rows) =>
  [row(heads), row(heads.map(() => "---")), ...rows.map(row)].join("\n");
const listed = (/** @type {readonly string[]} */ items) => items.join("<br>");
const files = (/** @type {readonly string[]} */ paths) => listed(paths.map((each) => `[${each}](../${each})`));

/** @returns {string} docs/invariants.md */
export const drawPage = () =>
  [
    "# What must never be false",
    [
      "Written by `npm run coverage-table` from [machines/invariants.ts](../machines/invariants.ts) and from the parts of the",
      "view that each world says it shows. An invariant is judged after every step of every world that shows the parts it",
      "needs, and in no other. That each of them can be broken is tested one by one.",
    ].join("\n"),
    "## Invariants",
    table(
      ["Invariant", "States", "Rules", "Judged by"],
      invariants.map((each) => [`\`${each.name}\``, each.sentence, listed(each.ids), listed(judgesOf(each))]),
    ),
    "## What must come about in time",
    table(
      ["Rules", "States", "Within", "Held to it by"],
      bounds.map(({ ids, sentence, within, checks }) => [listed(ids), sentence, within, files(checks)]),
    ),
    "## What is checked where it is",
    "Properties of bytes, of files, or of one function: no view of a world shows them.",
    table(
      ["Rules", "States", "Checked by"],
      elsewhere.map(({ ids, sentence, checks }) => [listed(ids), sentence, files(checks)]),
    ),
    ...(superseded.length === 0
      ? []
      : [
          "## What was decided otherwise",
          table(
            ["Rules", "Instead"],
            superseded.map(({ ids, instead }) => [listed(ids), instead]),
          ),
        ]),
  ]
    .join("\n\n")
    .concat("\n");
