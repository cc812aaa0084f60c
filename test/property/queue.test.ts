/** Random walks of the queue's chart: whatever comes, in whatever order, every invariant of queues holds after each event. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { instanceId, journalSeq, messageId } from "../../machines/ids.ts";
import { judgeOf } from "../../machines/invariants.ts";
import { queueMachine, type QueueEvent } from "../../machines/queue.machine.ts";
import { playChart } from "../support/charts/play.ts";
import { fixedSeed, freshSeed } from "../support/property/walks.ts";
import { queueParts } from "./queue-parts.ts";

const judge = judgeOf(queueParts);
const aSeq = fc.integer({ min: 1, max: 6 }).map(journalSeq);
const emojis = fc.subarray(["👍", "⚡", "👎", "👻"]);
const fresh = fc.integer({ min: 100, max: 10_000 }).map(journalSeq);
const opened = fc
  .record({
    id: aSeq,
    kind: fc.constantFrom("prompt", "control"),
    lane: fc.constantFrom("control", "priority", "default"),
    standing: fc.constantFrom("waiting", "gathering"),
  })
  .filter(({ kind, lane }) => kind === "prompt" || lane === "control")
  .map((item): QueueEvent => {
    const members = [{ seq: item.id, role: "message", message: messageId(item.id) }] as const;
    return { type: "item.opened", item: { ...item, members } };
  });
const event: fc.Arbitrary<QueueEvent> = fc.oneof(
  { arbitrary: opened, weight: 4 },
  aSeq.map((id): QueueEvent => ({ type: "item.closed", id })),
  aSeq.map((id): QueueEvent => ({ type: "item.offered", id })),
  fc
    .tuple(aSeq, fc.constantFrom("transferred", "returned"))
    .map(([id, how]): QueueEvent => ({ type: "offer.ended", id, how })),
  fc.tuple(aSeq, fresh, emojis, emojis).map(([id, seq, before, after]): QueueEvent => {
    return { type: "item.reacted", id, member: { seq, role: "change", message: null }, change: { before, after } };
  }),
  fc.constantFrom("stop", "abort", "next").map((command): QueueEvent => ({ type: "command.given", command, by: null })),
  fc.constantFrom("host.held", "host.released").map((type): QueueEvent => ({ type })),
);
type Step =
  | { readonly kind: "event"; readonly event: QueueEvent }
  | { readonly kind: "answer"; readonly how: "taken" | "notOurs" | "fails" };
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { arbitrary: event.map((each): Step => ({ kind: "event", event: each })), weight: 3 },
    fc.constantFrom("taken", "taken", "notOurs", "fails").map((how): Step => ({ kind: "answer", how })),
  ),
  { minLength: 1, maxLength: 60, size: "max" },
);

function brokenBy(walk: readonly Step[]): readonly string[] {
  const play = playChart(queueMachine, { asidesMax: 2 });
  // An entry comes into the queue once: what was opened is not opened again.
  const known = new Set<number>();
  for (const step of walk) {
    if (step.kind === "event") {
      if (step.event.type === "item.opened" && known.has(step.event.item.id)) continue;
      if (step.event.type === "item.opened") known.add(step.event.item.id);
      if (step.event.type === "item.reacted" && known.has(step.event.member.seq)) continue;
      if (step.event.type === "item.reacted") known.add(step.event.member.seq);
      // Only what is offered comes back, or goes.
      const offered = step.event.type === "offer.ended" ? step.event.id : null;
      const standing = play.context.items.find((each) => each.id === offered)?.standing;
      if (offered !== null && standing !== "offered" && standing !== "recalled") continue;
      // What is offered, or not there, nobody reacts to, nor closes it.
      const touched = step.event.type === "item.reacted" || step.event.type === "item.closed" ? step.event.id : null;
      const of = play.context.items.find((each) => each.id === touched)?.standing;
      if (touched !== null && of !== "waiting" && of !== "gathering") continue;
      play.send(step.event);
    } else if ("takeUp" in play.requests)
      if (step.how === "fails") play.fail("takeUp").after("retryInterval");
      else play.answer("takeUp", { kind: step.how });
    else if ("runTurn" in play.requests) play.answer("runTurn", undefined);
    const { items, current } = play.context;
    const turns = "runTurn" in play.requests ? 1 : 0;
    const broken = judge({ queues: [{ id: instanceId("1:1"), items, current, turns }] });
    if (broken.length > 0) return broken;
  }
  return [];
}

it.each([fixedSeed, freshSeed])(
  "updates/Q-75, Q-76, Q-77, Q-79 and Q-80: no walk of the queue breaks an invariant, from seed %i",
  (seed) => {
    fc.assert(
      fc.property(steps, (walk) => {
        expect(brokenBy(walk)).toEqual([]);
      }),
      { numRuns: 100, seed },
    );
  },
  60_000,
);
