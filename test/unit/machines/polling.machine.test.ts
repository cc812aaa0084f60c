/** The polling chart: the order fetch → journal → fetch, the cursor, every trouble and its back-off. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { epoch, updateId } from "../../../machines/ids.ts";
import { backOffMaxMs, backOffMs, pollingMachine } from "../../../machines/polling.machine.ts";
import type { AdmitRequest, FetchAnswer } from "../../../machines/polling.machine.ts";
import { faultsOfCoverage, noFaults } from "../../support/charts/coverage.ts";
import { playChart } from "../../support/charts/play.ts";

const start = () => playChart(pollingMachine, { epoch: epoch(4), pollSeconds: 30 });
const polling = (cursor: number | null = 10) => start().answer("readCursor", cursor === null ? null : updateId(cursor));

const updates = (...ids: readonly (number | null)[]) =>
  ids.map((id) => ({ id: id === null ? null : updateId(id), update: { update_id: id } }));
const batch = (...ids: readonly (number | null)[]): FetchAnswer => ({
  kind: "batch",
  updates: updates(...ids),
  jitter: 1,
});
const failed: FetchAnswer = { kind: "failed", reason: "502", jitter: 1 };
const webhook: FetchAnswer = { kind: "webhook", reason: "a webhook is active", jitter: 1 };
const admitted = { kind: "admitted", added: 2, duplicates: 0 } as const;
const journaling = () => polling().answer("fetchUpdates", batch(10, 11));

describe("bootstrapping", () => {
  it("reads the cursor, then polls from it", () => {
    const poller = start();
    expect(poller.requests).toEqual({ readCursor: undefined });
    poller.answer("readCursor", updateId(10));
    expect(poller.facts).toEqual([{ type: "polling.started" }]);
    expect(poller.requests).toEqual({ fetchUpdates: { cursor: 10, pollSeconds: 30 } });
  });

  it("never polls before it knows the cursor", () => {
    const poller = start().fail("readCursor");
    expect(poller.facts).toMatchObject([{ type: "polling.troubled", trouble: "store" }]);
    expect(poller.requests).toEqual({});
    expect(poller.after("retryInterval").state).toBe("bootstrapping.readingCursor");
  });

  it("updates/OP-29, T-6, T-7: asks without an offset when there is no cursor, until a batch gives one", () => {
    const poller = polling(null);
    expect(poller.requests).toEqual({ fetchUpdates: { cursor: null, pollSeconds: 30 } });
    expect(poller.answer("fetchUpdates", batch()).requests).toMatchObject({ fetchUpdates: { cursor: null } });
    poller.answer("fetchUpdates", batch(500)).answer("admitUpdates", admitted);
    expect(poller.requests).toMatchObject({ fetchUpdates: { cursor: 501 } });
  });
});

describe("fetch, journal, fetch", () => {
  it("journals a batch under its epoch before it asks beyond it", () => {
    const poller = journaling();
    expect(poller.requests).toEqual({ admitUpdates: { epoch: 4, updates: updates(10, 11), cursor: 12 } });
    expect(poller.answer("admitUpdates", admitted).latest).toEqual([{ type: "polling.answered", added: 2 }]);
    expect(poller.requests).toMatchObject({ fetchUpdates: { cursor: 12 } });
  });

  it("asks again at once after an empty poll, from the same cursor", () => {
    const poller = polling().answer("fetchUpdates", batch());
    expect(poller.latest).toEqual([{ type: "polling.answered", added: 0 }]);
    expect(poller.requests).toMatchObject({ fetchUpdates: { cursor: 10 } });
  });

  it.each([
    ["do not ascend", [11, 11]],
    ["were confirmed before", [9, 10]],
    ["cannot be used", [10, null]],
  ])("refuses whole a batch whose ids %s, and keeps the cursor", (_, ids) => {
    const poller = polling().answer("fetchUpdates", batch(...ids));
    expect(poller.state).toBe("backingOff");
    expect(poller.latest).toMatchObject([{ type: "polling.troubled", trouble: "refusedBatch" }]);
    expect(poller.after("backOff").requests).toMatchObject({ fetchUpdates: { cursor: 10 } });
  });

  it("updates/OP-32 takes a batch that comes a third time though its ids are no good, says so, and goes on from it", () => {
    const poller = polling(900);
    for (const _ of [1, 2]) poller.answer("fetchUpdates", batch(500, 501)).after("backOff");
    poller.answer("fetchUpdates", batch(500, 501));
    expect(poller.requests).toMatchObject({ admitUpdates: { cursor: 502 } });
    expect(poller.answer("admitUpdates", admitted).latest).toEqual([
      { type: "polling.answered", added: 2 },
      { type: "polling.idsAccepted", from: 900, to: 502, why: "update ids that were confirmed before" },
    ]);
    expect(poller.requests).toMatchObject({ fetchUpdates: { cursor: 502 } });
  });

  it("takes batch after batch as long as they are no good, and refuses again after one in order", () => {
    const poller = polling(10);
    for (const _ of [1, 2]) poller.answer("fetchUpdates", batch(10, null)).after("backOff");
    poller.answer("fetchUpdates", batch(10, null)).answer("admitUpdates", admitted);
    expect(poller.answer("fetchUpdates", batch(11, null)).state).toBe("journaling");
    poller.answer("admitUpdates", admitted).answer("fetchUpdates", batch(12)).answer("admitUpdates", admitted);
    expect(poller.answer("fetchUpdates", batch(13, null)).state).toBe("backingOff");
  });

  it("an empty poll ends a row of refused batches", () => {
    const poller = polling(10);
    for (const _ of [1, 2]) poller.answer("fetchUpdates", batch(10, null)).after("backOff");
    expect(poller.answer("fetchUpdates", batch()).answer("fetchUpdates", batch(10, null)).state).toBe("backingOff");
  });

  it("updates/T-1 keeps the cursor when the batch could not be written, and fetches it again", () => {
    const poller = journaling().fail("admitUpdates", new Error("disk"));
    expect(poller.latest).toEqual([
      { type: "polling.troubled", trouble: "store", reason: "the batch could not be written: Error: disk" },
    ]);
    expect(poller.after("backOff").requests).toMatchObject({ fetchUpdates: { cursor: 10 } });
  });

  it("updates/T-14, OP-21 waits while the journal is full, and confirms nothing", () => {
    const poller = journaling().answer("admitUpdates", { kind: "full" });
    expect(poller.latest).toMatchObject([{ type: "polling.troubled", trouble: "journalFull" }]);
    expect(poller.after("backOff").requests).toMatchObject({ fetchUpdates: { cursor: 10 } });
  });

  it.each([
    ["the journal stays full", (poller: ReturnType<typeof start>) => poller.answer("admitUpdates", { kind: "full" })],
    ["the batch cannot be written", (poller: ReturnType<typeof start>) => poller.fail("admitUpdates")],
  ])("backs off longer and longer while %s: only an admission ends a row of failures", (_, refuse) => {
    const poller = polling();
    const pauses = Array.from({ length: 9 }, () => {
      const { backOff } = refuse(poller.answer("fetchUpdates", batch(10))).timers;
      poller.after("backOff");
      return backOff;
    });
    expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    poller.answer("fetchUpdates", batch(10)).answer("admitUpdates", admitted).answer("fetchUpdates", failed);
    expect(poller.timers).toEqual({ backOff: 250 });
  });

  it("stops when the store says that its epoch is over", () => {
    const poller = journaling().answer("admitUpdates", { kind: "fenced" });
    expect(poller.status).toBe("done");
    expect(poller.latest).toEqual([{ type: "polling.fenced" }, { type: "polling.stopped" }]);
  });
});

describe("C14 Telegram rejects the token", () => {
  const rejection: FetchAnswer = { kind: "unauthorized", reason: "Unauthorized", jitter: 1 };
  const rejected = () => polling().answer("fetchUpdates", rejection);

  it("says so, reads the token again after a pause, and asks once more, for an answer at once", () => {
    const poller = rejected();
    expect(poller.latest).toEqual([{ type: "polling.troubled", trouble: "unauthorized", reason: "Unauthorized" }]);
    expect(poller.timers).toEqual({ rejectedPause: 1_000 });
    expect(poller.after("rejectedPause").requests).toEqual({ renewToken: undefined });
    expect(poller.answer("renewToken", undefined).requests).toEqual({ fetchUpdates: { cursor: 10, pollSeconds: 0 } });
    poller.answer("fetchUpdates", batch());
    expect(poller.requests).toEqual({ fetchUpdates: { cursor: 10, pollSeconds: 30 } });
  });

  it("asks at once when there is another token", () => {
    expect(rejected().send({ type: "token.renewed" }).requests).toEqual({
      fetchUpdates: { cursor: 10, pollSeconds: 0 },
    });
  });

  it("does not cut a poll that is taken for another token", () => {
    const poller = polling();
    const { requests } = poller;
    expect(poller.send({ type: "token.renewed" }).requests).toEqual(requests);
  });

  it("waits longer each time, up to a minute; a poll that succeeds starts anew", () => {
    const poller = polling();
    const pauses = Array.from({ length: 8 }, (_, at) => {
      const { rejectedPause } = poller.answer("fetchUpdates", rejection).timers;
      poller.after("rejectedPause");
      if (at % 2 === 0) poller.answer("renewToken", undefined);
      else poller.fail("renewToken");
      return rejectedPause;
    });
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    poller.answer("fetchUpdates", batch());
    expect(poller.answer("fetchUpdates", rejection).timers).toEqual({ rejectedPause: 1_000 });
  });
});

describe("trouble", () => {
  it.each(["failed", "unpermitted"] as const)("backs off when a poll is %s", (kind) => {
    const poller = polling().answer("fetchUpdates", { kind, reason: "no", jitter: 1 });
    expect(poller.latest).toEqual([{ type: "polling.troubled", trouble: kind, reason: "no" }]);
    expect(poller.timers).toEqual({ backOff: 250 });
  });

  it("backs off when a poll broke", () => {
    const poller = polling().fail("fetchUpdates", new Error("broken"));
    expect(poller.latest).toEqual([{ type: "polling.troubled", trouble: "failed", reason: "Error: broken" }]);
    expect(poller.after("backOff").state).toBe("fetching");
  });

  it("waits as long as a 429 asks, and not longer the next time", () => {
    const throttled = { kind: "throttled", retryAfterMs: 7_000, reason: "429", jitter: 0 } as const;
    const poller = polling().answer("fetchUpdates", throttled);
    expect(poller.timers).toEqual({ backOff: 7_000 });
    expect(poller.after("backOff").answer("fetchUpdates", failed).timers).toEqual({ backOff: 500 });
  });

  it("does not wait what a 429 asked for once more, after a poll that broke", () => {
    const throttled = { kind: "throttled", retryAfterMs: 20_000, reason: "429", jitter: 1 } as const;
    const poller = polling().answer("fetchUpdates", throttled).after("backOff").fail("fetchUpdates");
    expect(poller.timers).toEqual({ backOff: 500 });
  });

  it("waits its own back-off when a 429 asks for less", () => {
    const poller = polling().answer("fetchUpdates", { kind: "throttled", retryAfterMs: 10, reason: "429", jitter: 1 });
    expect(poller.timers).toEqual({ backOff: 250 });
  });

  it("updates/OP-31, T-9: says so when somebody else polls, and keeps asking with back-off", () => {
    const conflict = { kind: "conflict", reason: "409", jitter: 1 } as const;
    const poller = polling().answer("fetchUpdates", conflict);
    expect(poller.state).toBe("conflicted");
    expect(poller.latest).toEqual([{ type: "polling.troubled", trouble: "conflict", reason: "409" }]);
    expect(poller.timers).toEqual({ backOff: 250 });
    expect(poller.after("backOff").answer("fetchUpdates", conflict).timers).toEqual({ backOff: 500 });
  });

  it("updates/T-10 forgets its failures after a successful poll, and only then", () => {
    const poller = polling().answer("fetchUpdates", failed).after("backOff").answer("fetchUpdates", failed);
    expect(poller.timers).toEqual({ backOff: 500 });
    poller.after("backOff").answer("fetchUpdates", batch()).answer("fetchUpdates", failed);
    expect(poller.timers).toEqual({ backOff: 250 });
  });

  it("does not take a refused batch for a success", () => {
    const poller = polling().answer("fetchUpdates", failed).after("backOff").answer("fetchUpdates", batch(9));
    expect(poller.timers).toEqual({ backOff: 500 });
  });
});

describe("a webhook that is set", () => {
  it("is removed, said so, and polling goes on after a back-off", () => {
    const poller = polling().answer("fetchUpdates", webhook);
    expect(poller.latest).toEqual([{ type: "polling.troubled", trouble: "webhook", reason: "a webhook is active" }]);
    expect(poller.requests).toEqual({ clearWebhook: undefined });
    expect(poller.answer("clearWebhook", undefined).timers).toEqual({ backOff: 250 });
    expect(poller.after("backOff").requests).toMatchObject({ fetchUpdates: { cursor: 10 } });
  });

  it("is asked about by polls that come later each time when it could not be removed", () => {
    const poller = polling().answer("fetchUpdates", webhook).fail("clearWebhook");
    expect(poller.timers).toEqual({ backOff: 250 });
    poller.after("backOff").answer("fetchUpdates", webhook).fail("clearWebhook");
    expect(poller.timers).toEqual({ backOff: 500 });
  });

  it("does not make a 429 of the past be waited for once more", () => {
    const throttled = { kind: "throttled", retryAfterMs: 20_000, reason: "429", jitter: 1 } as const;
    const poller = polling().answer("fetchUpdates", throttled).after("backOff").answer("fetchUpdates", webhook);
    expect(poller.answer("clearWebhook", undefined).timers).toEqual({ backOff: 500 });
  });
});

describe("stopping", () => {
  it.each([
    ["bootstrapping", start],
    ["waiting for the store", () => start().fail("readCursor")],
    ["a webhook is being removed", () => polling().answer("fetchUpdates", webhook)],
    ["a poll is open", polling],
    ["a batch is being written", journaling],
    ["backing off", () => polling().answer("fetchUpdates", failed)],
    [
      "the token is rejected",
      () => polling().answer("fetchUpdates", { kind: "unauthorized", reason: "401", jitter: 1 }),
    ],
    ["conflicted", () => polling().answer("fetchUpdates", { kind: "conflict", reason: "409", jitter: 1 })],
  ])("updates/T-11 stops at once while %s: the poll is cut, nothing is asked any more", (_, reached) => {
    const poller = reached().send({ type: "polling.stop" });
    expect(poller.status).toBe("done");
    expect(poller.latest).toEqual([{ type: "polling.stopped" }]);
    expect(poller.requests).toEqual({});
  });
});

describe("whatever Telegram answers", () => {
  const anyId = fc.oneof(fc.integer({ min: 0, max: 3_000 }), fc.constant(null));
  const anyAnswer: fc.Arbitrary<FetchAnswer> = fc.oneof(
    fc.array(anyId, { maxLength: 4 }).map((ids) => batch(...ids)),
    fc.constantFrom("conflict", "webhook", "unauthorized", "unpermitted", "failed" as const).map((kind) => ({
      kind,
      reason: "no",
      jitter: 0,
    })),
  );

  it("never asks with a negative offset, and never beyond what is durable", () => {
    fc.assert(
      fc.property(fc.option(fc.nat(3_000)), fc.array(anyAnswer, { maxLength: 8 }), (cursor, answers) => {
        const poller = polling(cursor);
        let durable: number | null = cursor;
        for (const answer of answers) {
          expect(poller.requests).toMatchObject({ fetchUpdates: { cursor: durable } });
          expect(durable ?? 0).toBeGreaterThanOrEqual(0);
          poller.answer("fetchUpdates", answer);
          if (poller.state === "journaling") {
            const ids = answer.kind === "batch" ? answer.updates.map((each) => each.id ?? Infinity) : [];
            const next = poller.requests["admitUpdates"] as AdmitRequest; // asked for in this state alone
            // Of what came, all that the next poll confirms is written; of an unordered batch that is the lowest.
            expect(ids).toContain(next.cursor - 1);
            expect(next.updates.map((each) => each.id ?? Infinity)).toEqual(ids);
            durable = next.cursor;
            poller.answer("admitUpdates", admitted);
          }
          if (poller.state === "clearingWebhook") poller.answer("clearWebhook", undefined);
          if (poller.state === "rejected") poller.send({ type: "token.renewed" });
          if (poller.state !== "fetching") poller.after("backOff");
        }
      }),
      { numRuns: 60 },
    );
  });

  it("backs off between an eighth of a second and the cap, never less after one failure more", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (failures, jitter) => {
          const delay = backOffMs(failures, jitter);
          expect(delay).toBeGreaterThanOrEqual(125);
          expect(delay).toBeLessThanOrEqual(backOffMaxMs);
          expect(backOffMs(failures + 1, jitter)).toBeGreaterThanOrEqual(delay);
        },
      ),
    );
    expect(backOffMs(1, 0)).toBe(125);
    expect(backOffMs(100, 1)).toBe(30_000);
  });
});

it("reads like this from a start without a cursor to a full journal", () => {
  const poller = polling(null).answer("fetchUpdates", batch(7, 8)).answer("admitUpdates", admitted);
  poller.answer("fetchUpdates", batch(9)).answer("admitUpdates", { kind: "full" }).send({ type: "polling.stop" });
  expect(poller.trace()).toMatchInlineSnapshot(`
    "start → bootstrapping.readingCursor
      asks readCursor
    readCursor answered → fetching
      emits polling.started
      asks fetchUpdates (cursor: null, pollSeconds: 30)
    fetchUpdates answered batch (updates: [2], jitter: 1) → journaling
      asks admitUpdates (epoch: 4, updates: [2], cursor: 9)
    admitUpdates answered admitted (added: 2, duplicates: 0) → fetching
      emits polling.answered (added: 2)
      asks fetchUpdates (cursor: 9, pollSeconds: 30)
    fetchUpdates answered batch (updates: [1], jitter: 1) → journaling
      asks admitUpdates (epoch: 4, updates: [1], cursor: 10)
    admitUpdates answered full → backingOff
      emits polling.troubled (trouble: journalFull, reason: the journal holds its maximum; polling waits until work is done)
    polling.stop → stopped
      emits polling.stopped"
  `);
});

it("every transition of the chart is taken", () => {
  expect(faultsOfCoverage(pollingMachine)).toEqual(noFaults);
});
