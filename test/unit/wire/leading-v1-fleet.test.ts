/** An instance of ours that comes to lead a fleet of v1 processes, and goes again. */
import { expect, test } from "vitest";
import type { ListenRequest } from "../../../services/ports.ts";
import { settled } from "../../support/wire/manual-clock.ts";
import { owner } from "../../support/wire/leader.ts";
import { roleIn, startFollower, until, V1Leader } from "../../support/wire/follower.ts";
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

test("protocol/L-3, L-4 superseded: whoever took our record is seen at the next look: poll and endpoint end, nothing of it is touched, and ours joins it", async () => {
  const world = await promoted();
  const { owners, network, clock, telegram, v1 } = world;
  const successor = new V1Leader({ network, clock }, 2050);
  owners.alive.add(successor.pid);
  owners.record = successor.record;
  const writes = owners.writes.length;
  await clock.advance(1_000);
  expect(roleIn(world)).not.toBe("leader");
  const polls = telegram.of("getUpdates").length;
  await expect(network.transport("anybody").dial("memory:leader", 1_000)).rejects.toThrow(/ENOENT|ECONNREFUSED/);
  expect(v1.of("follower.register")).toHaveLength(1);

  await successor.serve();
  await until(world, () => successor.of("follower.heartbeat").length > 0);
  expect(roleIn(world)).toBe("follower");
  expect(telegram.of("getUpdates")).toHaveLength(polls);
  expect(owners.writes).toHaveLength(writes);
  expect(owners.record).toMatchObject({ pid: successor.pid });
});

const boundThreads = async ({ store }: FleetWorld) =>
  (await store.threads.view()).bindings.map(({ thread, seat }) => ({ ...thread, seat }));

test("protocol/S-53, EL-7 promoted, the thread that the v1 leader gave is kept: bound after the record was taken and before the endpoint opens", async () => {
  const world = await startFollower();
  const { transport } = world.instance.runtime.ports;
  const listen = transport.listen.bind(transport);
  const seen: unknown[] = [];
  const look = async (when: string) =>
    void seen.push([when, world.owners.record?.pid === 1000, (await boundThreads(world)).length]);
  Object.assign(transport, {
    listen: async (request: ListenRequest) => {
      await look("the endpoint opens");
      return listen(request);
    },
  });
  await look("following");
  await dies(world);
  await until(world, () => roleIn(world) === "leader");
  expect(seen).toEqual([
    ["following", false, 0],
    ["the endpoint opens", true, 1],
  ]);
  const kept = { target: { chatId: owner, threadId: 42 }, slot: "B", threadName: "Beryl" };
  expect(await boundThreads(world)).toEqual([expect.objectContaining(kept)]);
  expect(world.instance.runtime.board.place?.thread).toEqual(kept);
  expect(world.telegram.of("createForumTopic")).toEqual([]);
});

test("protocol/S-53 lost, the bindings are as they were, and the thread is carried to the winner", async () => {
  const world = await startFollower();
  const rival = new V1Leader(world, 3000);
  await world.v1.close();
  world.owners.alive.delete(world.v1.pid);
  world.owners.alive.add(rival.pid);
  world.owners.record = rival.record;
  await rival.serve();
  await until(world, () => rival.of("follower.register").length === 1);
  expect(await boundThreads(world)).toEqual([]);
  expect(rival.registration.target).toEqual({ chatId: owner, threadId: 42 });
});
