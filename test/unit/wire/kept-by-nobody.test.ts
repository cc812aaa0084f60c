/** What is decided anew each time: whether there are threads, whatever was known of it or is bound. */
import { describe, expect, test } from "vitest";
import { roleOf } from "../../../machines/role.rules.ts";
import { startInstance, startLeader } from "../../support/wire/leader.ts";
import type { LeaderWorld } from "../../support/wire/leader.ts";

const looks = ({ telegram }: LeaderWorld): number => telegram.calls.filter(({ method }) => method === "getMe").length;
const roleIn = ({ instance }: LeaderWorld) => roleOf(instance.actor.getSnapshot());
const boundIn = async ({ store }: LeaderWorld) =>
  (await store.threads.view()).bindings.map(({ thread }) => thread.target);

async function stop(world: LeaderWorld): Promise<LeaderWorld> {
  world.instance.actor.send({ type: "instance.stop", leave: false });
  await world.clock.advance(5_000);
  expect(world.instance.actor.getSnapshot().status).toBe("done");
  return world;
}

async function next(after: LeaderWorld, hasTopics: boolean): Promise<LeaderWorld> {
  const world = await startInstance({ after, hasTopics });
  await world.clock.advance(5_000);
  return world;
}

test("threads/OB-7 superseded: there is no mode to keep: each start asks whether there are threads, and goes by that alone", async () => {
  const first = await startLeader();
  expect(roleIn(first)).toBe("leader");
  const bound = await boundIn(first);
  expect(bound).toHaveLength(1);
  const second = await next(await stop(first), false);
  expect(roleIn(second)).toBe("classic");
  expect(await boundIn(second)).toEqual(bound);
  const third = await next(await stop(second), true);
  expect(roleIn(third)).toBe("leader");
  // The thread is its seat's as before: none was made, and nothing was said about it.
  expect(await boundIn(third)).toEqual(bound);
  expect(third.telegram.calls.filter(({ method }) => method === "createForumTopic")).toHaveLength(1);
});

describe("threads/CP-6 superseded: threads turn off by two looks, whatever is bound", () => {
  test.each([
    ["an open thread", () => Promise.resolve()],
    [
      "a closed one",
      async ({ store }: LeaderWorld) => {
        const { epoch } = await store.lease.read();
        const [target] = (await store.threads.view()).bindings.map(({ thread }) => thread.target);
        await store.threads.mark({ epoch, target: target!, standing: "closed", reason: "the user closed it", atMs: 1 });
      },
    ],
    [
      "none",
      async ({ store }: LeaderWorld) => {
        const { epoch } = await store.lease.read();
        for (const { thread } of (await store.threads.view()).bindings)
          await store.cleanups.unbind({ epoch, target: thread.target });
      },
    ],
  ])("%s", async (_, prepare) => {
    const world = await startLeader();
    await prepare(world);
    const before = looks(world);
    world.telegram.setTopics(false);
    const health = async () => (await world.store.status.read()).polling.health;
    const untilLooks = async (count: number) => {
      for (let tries = 0; tries < 1_000 && looks(world) < count; tries += 1) await world.clock.advance(100);
      expect(looks(world)).toBe(count);
    };
    await untilLooks(before + 1);
    expect(await health()).not.toContain("topics are off");
    await untilLooks(before + 2);
    expect(await health()).toContain("topics are off");
  });
});
