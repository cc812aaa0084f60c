/** A handler that failed, and a store that does not answer meanwhile: the update is neither lost nor stuck in a hand. */
import { expect, test } from "vitest";
import { owner, startLeader } from "../../support/wire/leader.ts";
import type { LeaderWorld } from "../../support/wire/leader.ts";

/** A leader with explicit ack, whose store loses these requests to return an entry: before their effect, or after it. */
async function leaderLosing(losses: ("request" | "answer")[]): Promise<LeaderWorld> {
  const world = await startLeader({
    settings: { ack: "explicit" },
    prepare: ({ store }) => {
      const fail = store.work.fail.bind(store.work);
      Object.assign(store.work, {
        fail: async (request: Parameters<typeof fail>[0]) => {
          const loss = losses.shift();
          if (loss === "request") throw new Error("busy");
          const outcome = await fail(request);
          if (loss === "answer") throw new Error("busy");
          return outcome;
        },
      });
    },
  });
  const thread = (await world.store.threads.view()).bindings[0]?.thread.target.threadId;
  const message = {
    message_id: 501,
    date: 1,
    chat: { id: owner, type: "private", first_name: "U" },
    from: { id: owner, is_bot: false, first_name: "U" },
    message_thread_id: thread,
    is_topic_message: true,
    text: "x",
  };
  world.telegram.give(Object.assign({ update_id: 501 }, { message }));
  await world.clock.advance(100);
  return world;
}

test.each([
  ["requests", ["request", "request"], true],
  // By then it has gone back: it is not ours to return once more.
  ["an answer", ["request", "answer"], false],
] as const)(
  "updates/OP-18: a failure whose recording lost %s is told again, and the update comes again, one attempt older",
  async (_, losses, isReturned) => {
    const world = await leaderLosing([...losses]);
    const failing = world.handed[0]?.fail("the handler threw");
    await world.clock.advance(600);
    expect(await failing).toBe(isReturned);
    await world.clock.advance(2_000);
    expect(world.handed).toHaveLength(2);
    expect(await world.handed[1]?.ack()).toBe(true);
    expect((await world.store.status.read()).journal).toEqual({ waiting: 0, claimed: 0, deadLetters: 0 });
  },
);
