/** When a backup is taken, in virtual time. */
import { expect, test } from "vitest";
import { backupEveryMs, BackupTimes, lookEveryMs } from "../../../services/backups.ts";
import type { BackupOutcome } from "../../../services/ports.ts";
import { ManualClock } from "../../support/wire/manual-clock.ts";

function setUp(outcome: BackupOutcome = { kind: "taken", generation: 1 }) {
  const clock = new ManualClock();
  const asked: number[] = [];
  const told: string[] = [];
  const backups = {
    take: (notBeforeMs: number) => {
      asked.push(notBeforeMs);
      return Promise.resolve(outcome);
    },
  };
  const fields: unknown[] = [];
  const log = {
    event: (level: string, name: string, more: unknown) => {
      told.push(`${level} ${name}`);
      fields.push(more);
    },
  };
  return { clock, asked, told, fields, times: new BackupTimes({ backups, clock, log }) };
}

test("whoever leads asks once a minute for one that is not older than an hour, and for a last one when it stops", async () => {
  const { clock, asked, times, told } = setUp();
  for (const role of ["starting", "electing", "leader", "leader"] as const) times.tell(role);
  await clock.advance(2 * lookEveryMs);
  expect(asked).toEqual([backupEveryMs, backupEveryMs]);
  times.tell("stopping");
  times.tell("stopped");
  await clock.advance(10 * lookEveryMs);
  expect(asked).toHaveLength(2);
  await times.close();
  expect(asked).toEqual([backupEveryMs, backupEveryMs, 0]);
  expect([clock.pending, told.at(-1)]).toEqual([0, "debug backup-taken"]);
});

test("a follower takes none, nor does who led once; without threads a leader is one as well", async () => {
  const { clock, asked, times } = setUp();
  for (const role of ["classic", "seeking", "follower"] as const) times.tell(role);
  await clock.advance(10 * lookEveryMs);
  times.tell("stopping");
  await times.close();
  expect([asked, clock.pending]).toEqual([[], 0]);
  const other = setUp();
  other.times.tell("classic");
  await other.clock.advance(lookEveryMs);
  expect(other.asked).toEqual([backupEveryMs]);
  await other.times.close();
});

test("one that fails is told, and tried again at the next look", async () => {
  const { clock, asked, told, times } = setUp({ kind: "failed", reason: "the drive is full" });
  times.tell("leader");
  await clock.advance(2 * lookEveryMs);
  expect([asked.length, told]).toEqual([2, ["warn backup-failed", "warn backup-failed"]]);
  await times.close();
});

test("what is told names the backup's number, or the reason why there is none; a recent one is no news", async () => {
  for (const [outcome, fields] of [
    [{ kind: "taken", generation: 7 }, [{ generation: 7 }]],
    [{ kind: "failed", reason: "the drive is full" }, [{ reason: "the drive is full" }]],
    [{ kind: "recent" }, []],
  ] as const) {
    const line = setUp(outcome);
    line.times.tell("leader");
    await line.times.close();
    expect(line.fields).toEqual(fields);
  }
});

test("they are taken one after the other, and whoever closes waits for the last; closed twice, there is no second", async () => {
  const clock = new ManualClock();
  const running: ((outcome: BackupOutcome) => void)[] = [];
  const backups = { take: () => new Promise<BackupOutcome>((resolve) => running.push(resolve)) };
  const times = new BackupTimes({ backups, clock, log: { event: () => undefined } });
  times.tell("leader");
  await clock.advance(3 * lookEveryMs);
  expect(running).toHaveLength(1);
  const closing: { isOver: boolean } = { isOver: false };
  const closed = times.close().then(() => (closing.isOver = true));
  for (let taken = 0; taken < 4; taken += 1) {
    await clock.advance(1);
    expect([running.length, closing.isOver]).toEqual([taken + 1, false]);
    running[taken]?.({ kind: "recent" });
  }
  await closed;
  await times.close();
  expect([running.length, backupEveryMs]).toEqual([4, 3_600_000]);
});
