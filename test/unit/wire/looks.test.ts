/** When the leader reads its journal: what is told, what is left, and nothing more. */
import { expect, test, vi } from "vitest";
import { seated, startLeader } from "../../support/wire/leader.ts";
import { say, take, textsOf } from "../../support/wire/writing.ts";

/** Below the look that the leader takes without a reason. */
const soonMs = 100;

async function withOneInstance() {
  const world = await startLeader();
  const peer = await seated(world, { isOwn: true });
  peer.answer = (request) => take(world, peer, request);
  await world.clock.advance(soonMs);
  return { world, peer };
}

test("an update that is taken needs no further look: one for each poll", async () => {
  const { world, peer } = await withOneInstance();
  const heads = vi.spyOn(world.store.journal, "heads");
  for (let n = 0; n < 10; n += 1) {
    say(world, peer.thread, `word ${n}`);
    await world.clock.advance(5);
  }
  expect(textsOf(peer)).toHaveLength(10);
  expect(heads.mock.calls.length).toBeLessThanOrEqual(11);
});

test("what a look had to leave, in a lane with its places taken, follows at once when one of them is free", async () => {
  const { world, peer } = await withOneInstance();
  const words = Array.from({ length: 90 }, (_, n) => `word ${n}`);
  for (const word of words) say(world, peer.thread, word);
  await world.clock.advance(soonMs);
  expect(textsOf(peer)).toEqual(words);
});
