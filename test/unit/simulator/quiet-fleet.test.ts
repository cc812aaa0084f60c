/**
 * A fleet at rest that has lost a thread makes no call and writes nothing: nobody judges a loss again and again.
 *
 * Counted in virtual time are the leader's calls and its durable writes; reading, polling, the lease and `status` are not.
 */
import { expect, test } from "vitest";
import { epoch } from "../../../machines/ids.ts";
import { playCrash, type CrashWorld, type PlaceName } from "../../../testing/simulator/crash-world.ts";
import { bothJoin, minuteMs } from "./joining.ts";

const quietMs = 90_000;

const pass = (world: CrashWorld, ms: number): Promise<boolean> => world.until(() => false, ms);

/** Effects of the leader in a minute and a half, half a minute after what happened. */
const effectsAfter = async (happened: (world: CrashWorld) => Promise<void>, ends: readonly PlaceName[]) =>
  playCrash({
    story: {
      async before(world) {
        await bothJoin(world);
        await happened(world);
        await pass(world, 30_000);
      },
      async told(world) {
        await pass(world, quietMs);
      },
      ends,
      threadGraceMs: 10 * minuteMs,
    },
    at: null,
    together: false,
  });

const noFault = { effects: [], faults: [] };

test("a thread that the user deleted, and nobody has missed yet", async () => {
  const { effects } = await effectsAfter(
    async (world) => {
      world.telegram.meddle(Number(world.threadOf("F").threadId), { kind: "delete" });
      await pass(world, 1_000);
    },
    ["L", "F"],
  );
  expect(effects).toEqual([]);
});

test("a thread that was missed and replaced", async () => {
  const result = await effectsAfter(
    async (world) => {
      const { threadId } = world.threadOf("F");
      world.telegram.meddle(Number(threadId), { kind: "delete" });
      world.say("F");
      if (!(await world.until(() => world.has("F") && world.threadOf("F").threadId !== threadId, minuteMs)))
        throw new Error("it was not replaced");
    },
    ["L", "F"],
  );
  expect(result).toMatchObject(noFault);
});

test("a thread that is written down as lost and not replaced, its agent still at work", async () => {
  const result = await effectsAfter(
    async (world) => {
      const target = world.threadOf("F");
      world.telegram.meddle(Number(target.threadId), { kind: "delete" });
      const present = epoch(Number(world.database.lease.epoch));
      const lost = await world.store.threads.lose({ epoch: present, target, reason: "TOPIC_DELETED", atMs: 0 });
      expect(lost).toEqual({ kind: "lost" });
    },
    ["L"],
  );
  expect(result).toMatchObject(noFault);
});
