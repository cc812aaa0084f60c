/** A leader's calls: made under the grant they belong to and no other, and over before it may end. */
import { expect, test } from "vitest";
import { epoch } from "../../../machines/ids.ts";
import { callAsLeader } from "../../../services/leader-calls.ts";
import type { Runtime } from "../../../services/runtime.ts";

const notMade = { kind: "notSent", reason: "this instance does not lead (any more)" };

/** Makes a call for grant 1, or for whichever holds, while grant `held` has so long left; `budgets`: of the calls that were made. */
async function called(held: number, remainingMs: number, under: number | null = 1) {
  const budgets: number[] = [];
  const signal = new AbortController().signal;
  const telegram = {
    call: (_method: string, _payload: object, limits: { readonly timeoutMs: number }) => {
      budgets.push(limits.timeoutMs);
      return Promise.resolve({ kind: "ok", result: true });
    },
  };
  const gate = { permit: () => ({ epoch: epoch(held), remainingMs, signal }) };
  // Only what these calls look at.
  const runtime = { ports: { v1: null, telegram }, gate } as unknown as Runtime;
  const outcome = await callAsLeader(runtime, {
    method: "sendMessage",
    payload: {},
    epoch: under === null ? null : epoch(under),
  });
  return { outcome, budgets };
}

test("a call that was decided under an earlier grant is not made", async () => {
  expect(await called(2, 6_000)).toEqual({ outcome: notMade, budgets: [] });
  expect((await called(1, 6_000)).budgets).toHaveLength(1);
  expect((await called(2, 6_000, null)).budgets).toHaveLength(1);
});

test("a call is over half a second before the lease, and is not made when there is no time for one", async () => {
  expect((await called(1, 6_000)).budgets).toEqual([5_500]);
  expect((await called(1, 600_000)).budgets).toEqual([30_000]);
  expect(await called(1, 500)).toEqual({ outcome: notMade, budgets: [] });
});
