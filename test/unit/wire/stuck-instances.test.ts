/** Instances that do not answer, and what they must not take from the others, in virtual time. */
import { expect, test } from "vitest";
import { seated, startLeader } from "../../support/wire/leader.ts";
import { say, take, textIn, textsOf } from "../../support/wire/writing.ts";
import type { Peer } from "../../support/wire/writing.ts";

const never = (): Promise<never> => new Promise(() => undefined);

test("C74 updates/Q-26 forty instances that do not answer leave a place to every other one, and to new ones", async () => {
  const world = await startLeader();
  const stuck: Peer[] = [];
  for (let n = 0; n < 40; n += 1) stuck.push(await seated(world, { pid: 3_000 + n, isOwn: true, answer: never }));
  const healthy = await seated(world, { pid: 2_001 });
  for (let n = 0; n < 40; n += 1) for (const { thread } of stuck) say(world, thread, `work ${n}`);
  await world.clock.advance(500);
  const sent = stuck.reduce((sum, { received }) => sum + received.length, 0);
  // Neither all of the 1,024 places, nor as much as the first ones would like.
  expect(sent).toBeGreaterThan(512 - 32);
  expect(sent).toBeLessThan(512 + 64);
  expect(stuck.every(({ received }) => received.length > 0)).toBe(true);

  say(world, healthy.thread, "hello");
  await world.clock.advance(200);
  expect(textsOf(healthy)).toEqual(["hello"]);
});

test("/stop goes ahead of the work that it is to stop: behind a turn of minutes and a full hand it arrives at once", async () => {
  const world = await startLeader();
  const busy = await seated(world, { isOwn: true });
  busy.answer = (request) => (textIn(request) === "/stop" ? take(world, busy, request) : never());
  for (let n = 0; n < 60; n += 1) say(world, busy.thread, `work ${n}`);
  await world.clock.advance(1_000);
  const before = textsOf(busy);
  expect(before.length).toBeLessThan(60);
  say(world, busy.thread, "/stop");
  await world.clock.advance(100);
  expect(textsOf(busy).slice(before.length)).toEqual(["/stop"]);
});
