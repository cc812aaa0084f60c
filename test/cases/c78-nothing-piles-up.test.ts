/** C78: what has ended stays in memory: actors, timers, seats of those who came and went. */
import type { AnyActorRef } from "xstate";
import { expect, test } from "vitest";
import { seated, startLeader } from "../support/wire/leader.ts";
import type { LeaderWorld } from "../support/wire/leader.ts";
import { say, take } from "../support/wire/writing.ts";

/** Actors that an instance has, whatever their depth. */
function actorsOf(actor: AnyActorRef): number {
  const { children } = actor.getSnapshot() as { readonly children?: Readonly<Record<string, AnyActorRef | undefined>> };
  return Object.values(children ?? {}).reduce((sum, child) => sum + (child === undefined ? 0 : actorsOf(child)), 1);
}

const sizeOf = ({ instance, clock }: LeaderWorld) => ({ actors: actorsOf(instance.actor), timers: clock.pending });

let lastPid = 2_000;
/** A follower that registers, takes some updates and leaves for good. */
async function comeAndGo(world: LeaderWorld, updates: number): Promise<void> {
  const peer = await seated(world, { pid: (lastPid += 1), isOwn: true });
  peer.answer = (request) => take(world, peer, request);
  for (let n = 0; n < updates; n += 1) say(world, peer.thread, `word ${String(n)}`);
  await world.clock.advance(20);
  expect(await peer.disconnect()).toMatchObject({ ok: true });
  await world.clock.advance(20);
}

test("C78 followers that come, take their updates and leave, leave no actor and no timer behind", async () => {
  const world = await startLeader();
  await comeAndGo(world, 10);
  await world.clock.advance(60_000);
  const before = sizeOf(world);
  for (let n = 0; n < 100; n += 1) await comeAndGo(world, 10);
  await world.clock.advance(60_000);
  expect(sizeOf(world)).toEqual(before);
}, 60_000);

test("C78 more of them than there may be seats at once are all served, one after another", async () => {
  const world = await startLeader({ settings: { seatsMax: 3 } });
  for (let n = 0; n < 20; n += 1) await comeAndGo(world, 1);
  for (let n = 0; n < 3; n += 1) await seated(world, { pid: (lastPid += 1) });
  await expect(seated(world, { pid: (lastPid += 1) })).rejects.toThrow("a leader has at most 3 seats");
});

test("C78 what is kept is plain data: read, written as JSON and read again it is the same", async () => {
  const world = await startLeader();
  await seated(world, { pid: (lastPid += 1) });
  const kept = await world.store.status.read();
  expect(kept.registrations.length).toBeGreaterThan(0);
  expect(JSON.parse(JSON.stringify(kept))).toEqual(kept);
});
