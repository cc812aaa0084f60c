/** Random handoffs between three hosts over a store that fails, with deaths: everything is done, and acked once. */
import { describe, expect, it } from "vitest";
import { createRandom } from "../../testing/simulator/random.ts";
import { HandoffLine } from "../support/property/handoff-line.ts";
import { fixedSeed, freshSeed } from "../support/property/walks.ts";
import { judgeOf } from "../../machines/invariants.ts";
import { ManualClock } from "../support/wire/manual-clock.ts";
import { handoverParts } from "./wire-parts.ts";

const seats = [1, 2, 3];
const judge = judgeOf(handoverParts);

/** What the offers that have ended since the last look break; null when nothing. */
function brokenBy(line: HandoffLine): string | null {
  const offersEnded = line.takeEnded();
  const broken = judge({ offersEnded });
  return broken.length === 0 ? null : `${broken.join()}: ${JSON.stringify(offersEnded)}`;
}

const doings = [
  "write",
  "write",
  "offer",
  "offer",
  "offer",
  "offer",
  "hold",
  "hold",
  "withdraw",
  "kill",
  "deafen",
] as const;

/** One random thing that somebody does. */
async function actOnce(line: HandoffLine): Promise<void> {
  const { random } = line;
  const living = line.desks.filter(({ isAlive }) => isAlive);
  switch (random.pick(doings)) {
    case "write":
      return line.write(random.pick(seats));
    case "offer": {
      const offerable = living.flatMap((desk) => desk.offerable().map((id) => ({ desk, id })));
      if (offerable.length === 0) return;
      const { desk, id } = random.pick(offerable);
      void desk.offer(id, random.pick(seats));
      return;
    }
    case "withdraw": {
      const offered = (await line.plain.offers.list(99)).filter(({ isOffered }) => isOffered);
      if (offered.length > 0) await line.plain.offers.withdraw({ seq: random.pick(offered).seq });
      return;
    }
    case "hold":
      if (living.length > 0) random.pick(living).hold(random.between(500, 12_000));
      return;
    case "deafen":
      // For longer than an offer stands: it must come back although its recipient lives.
      if (living.length > 0 && random.chance(0.3)) random.pick(living).deafen(random.between(32_000, 45_000));
      return;
    case "kill":
      if (living.length === 0 || !random.chance(0.4)) return;
      line.lose(random.pick(living), random.between(50, 4_000));
  }
}

let transferred = 0;
let kept = 0;
let expired = 0;

/** What is wrong at the end; null when nothing is. */
async function walk(seed: number): Promise<string | null> {
  const line = new HandoffLine(new ManualClock(), createRandom(seed));
  await line.open(seats.length);
  line.faults = 0.15;
  for (let step = 0; step < 120; step += 1) {
    await actOnce(line);
    await line.clock.advance(line.random.between(50, 400));
    await line.dispatch();
    const broken = brokenBy(line);
    if (broken !== null) return broken;
  }
  line.faults = 0;
  for (let step = 0; step < 150 && (await line.openCount()) > 0; step += 1) {
    await line.clock.advance(500);
    await line.dispatch();
    const broken = brokenBy(line);
    if (broken !== null) return broken;
  }
  const left = await line.plain.offers.list(9);
  if (left.length > 0) return `not done: ${JSON.stringify(left)}`;
  for (const seq of new Set(line.runs.map((run) => run.seq))) {
    const runs = line.runs.filter((run) => run.seq === seq);
    const acked = runs.filter(({ isAcked }) => isAcked).length;
    const living = runs.filter(({ by, isAcked }) => by.isAlive || isAcked).length;
    if (acked > 1 || living > 1)
      return `update ${seq} ran ${runs.length} times, acked ${acked}, by the living ${living}`;
  }
  for (const desk of line.desks) desk.kill();
  transferred += line.ends.transferred;
  kept += line.ends.kept;
  expired += line.expired;
  return null;
}

describe("random handoffs", { timeout: 240_000 }, () => {
  it("protocol/P-46, updates/Q-13, Q-36, Q-46, Q-57, Q-58, Q-59: everything is done in the end, and by one", async () => {
    for (const from of [fixedSeed, freshSeed])
      for (let seed = from; seed < from + 5; seed += 1) expect([seed, await walk(seed)]).toEqual([seed, null]);
    // Both ends of an offer are met often: else this says little.
    expect(transferred).toBeGreaterThan(10);
    expect(kept).toBeGreaterThan(10);
    expect(expired).toBeGreaterThan(0);
  });
});
