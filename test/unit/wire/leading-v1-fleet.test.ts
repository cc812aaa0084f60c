/** An instance of ours that comes to lead a fleet of v1 processes, and goes again. */
import { expect, test } from "vitest";
import { settled } from "../../support/wire/manual-clock.ts";
import { roleIn, startFollower, until } from "../../support/wire/follower.ts";
import type { FleetOptions, FleetWorld } from "../../support/wire/follower.ts";

/** The v1 leader's process ends without a word. */
async function dies({ v1, owners }: FleetWorld): Promise<void> {
  owners.alive.delete(v1.pid);
  await v1.close();
}

async function promoted(options: FleetOptions = {}): Promise<FleetWorld> {
  const world = await startFollower(options);
  await dies(world);
  await until(world, () => roleIn(world) === "leader");
  return world;
}

test("protocol/S-71 superseded: an instance is its own session; a stop ends the poll first and then gives the record back", async () => {
  const world = await promoted();
  expect(world.owners.record).toMatchObject({ pid: 1000, leaderEpoch: "epoch-of-ours-1" });
  const polls: string[] = [];
  const { telegram, owners } = world;
  telegram.answer("getUpdates", () => {
    polls.push(owners.record === null ? "without the record" : "with it");
    return new Promise(() => undefined);
  });
  world.instance.actor.send({ type: "instance.stop", leave: false });
  await settled();
  expect(owners.record).toBeNull();
  await world.clock.advance(10_000);
  expect(polls).not.toContain("without the record");
  expect(world.instance.actor.getSnapshot().status).toBe("done");
});

test("protocol/P-2 a record that could not be given back is kept under its epoch; the store's lease is granted anew all the same", async () => {
  const world = await promoted();
  const { owners, store } = world;
  const before = world.instance.actor.getSnapshot().context.epoch;
  const record = await store.lease.read();
  if (record.holder === null) throw new Error("nobody leads");
  const change = owners.change.bind(owners);
  let refused = 0;
  owners.change = async (decide) => {
    const current = owners.record;
    // The release alone fails: what is left is our own record, fresh.
    if (decide(current).kind === "remove") {
      refused += 1;
      throw new Error("the guard is held");
    }
    return change(decide);
  };
  // The lease is lost to a rival that is gone again at once.
  await store.lease.acquire({
    me: { ...record.holder, instanceId: world.v1.id },
    expected: { epoch: record.epoch, renewals: record.renewals },
    evidence: "holderGone",
    durationMs: 1,
  });
  await until(world, () => refused > 0);
  await until(world, () => roleIn(world) === "leader" && world.instance.actor.getSnapshot().context.epoch > before);
  expect(owners.record).toMatchObject({ pid: 1000, leaderEpoch: "epoch-of-ours-1" });
});
