/**
 * Effects of the polling chart: the long poll and the admission of what it brought.
 *
 * Owns: the poll's time budget (a poll that hangs is cut and asked again on a new connection), reading an answer.
 * Does not own: the cursor, back-off, the journal.
 */
import { fromPromise } from "xstate";
import type { UpdateId } from "../machines/ids.ts";
import { lane } from "../machines/ids.ts";
import { pollingMachine } from "../machines/polling.machine.ts";
import type { AdmitAnswer, AdmitRequest, FetchAnswer, FetchRequest } from "../machines/polling.machine.ts";
import { pressOf } from "../machines/reroute.rules.ts";
import { isUrgentUpdate } from "../machines/shape.rules.ts";
import { allowedUpdates, laneOf, pressLaneOf, readUpdate, urgentLaneOf } from "../machines/updates.rules.ts";
import { callAsLeader, reasonOf } from "./leader-calls.ts";
import type { AdmittedUpdate, CallOutcome } from "./ports.ts";
import type { Runtime } from "./runtime.ts";
import { provideTokenRenewal, provideTokenWatch } from "./token.ts";

/** Beyond the poll's own time, in milliseconds: then the connection is taken for dead. */
const pollMarginMs = 10_000;
const batchMax = 100;

const isWebhook = (outcome: Exclude<CallOutcome, { kind: "ok" }>): boolean =>
  /webhook is active/i.test(reasonOf(outcome));

function readAnswer(outcome: CallOutcome, jitter: number): FetchAnswer {
  switch (outcome.kind) {
    case "ok":
      return Array.isArray(outcome.result)
        ? {
            kind: "batch",
            jitter,
            updates: outcome.result.map((update: unknown) => ({ id: readUpdate(update)?.updateId ?? null, update })),
          }
        : { kind: "failed", jitter, reason: "Telegram answered a poll without a list of updates" };
    case "throttled":
      return { kind: "throttled", jitter, retryAfterMs: outcome.retryAfterMs, reason: reasonOf(outcome) };
    case "rejected":
      if (outcome.error.error_code === 409)
        return { kind: isWebhook(outcome) ? "webhook" : "conflict", jitter, reason: reasonOf(outcome) };
      // A token that does not even have the shape of one is "Not Found".
      if (outcome.error.error_code === 401 || outcome.error.error_code === 404)
        return { kind: "unauthorized", jitter, reason: reasonOf(outcome) };
      return { kind: "failed", jitter, reason: reasonOf(outcome) };
    case "notSent":
    case "ambiguous":
      return { kind: "failed", jitter, reason: reasonOf(outcome) };
  }
}

/** An update as the journal keeps it. One that cannot be read has no lane of its own and is dropped with a reason later. */
function asAdmitted(id: UpdateId, update: unknown): AdmittedUpdate {
  const facts = readUpdate(update);
  const ordinary = facts === null ? lane("none") : laneOf(facts);
  const beside = isUrgentUpdate(update) ? urgentLaneOf : pressOf(update) === null ? null : pressLaneOf;
  return {
    updateId: id,
    lane: beside?.(ordinary) ?? ordinary,
    body: JSON.stringify(update),
  };
}

interface Fetch {
  readonly input: FetchRequest;
  readonly signal: AbortSignal;
}

export function providePolling(runtime: Runtime) {
  const { store, stage, telegram, ids } = runtime.ports;
  const count = (reason: string, by: number, nowMs: number): void => {
    if (by === 0) return;
    store.status.count(reason, by, nowMs).catch((error: unknown) => {
      stage.log.event("warn", "drops-not-counted", { dropped: reason, reason: String(error) });
    });
  };
  return pollingMachine.provide({
    actors: {
      clearWebhook: fromPromise(async () => {
        await callAsLeader(runtime, { method: "deleteWebhook", payload: {}, epoch: null });
        return undefined;
      }),
      renewToken: provideTokenRenewal(runtime),
      watchToken: provideTokenWatch(runtime),
      readCursor: fromPromise(() => store.journal.cursor()),
      fetchUpdates: fromPromise(async ({ input, signal }: Fetch): Promise<FetchAnswer> => {
        if (runtime.gate.permit() === null)
          return { kind: "unpermitted", jitter: ids.chance(), reason: "the lease has run out" };
        const outcome = await telegram.call(
          "getUpdates",
          {
            ...(input.cursor === null ? {} : { offset: input.cursor }),
            limit: batchMax,
            timeout: input.pollSeconds,
            allowed_updates: allowedUpdates,
          },
          { timeoutMs: input.pollSeconds * 1_000 + pollMarginMs, signal },
        );
        return readAnswer(outcome, ids.chance());
      }),
      admitUpdates: fromPromise<AdmitAnswer, AdmitRequest>(async ({ input }) => {
        const nowMs = stage.clock.nowMs();
        const answer = await store.journal.admit({
          epoch: input.epoch,
          cursor: input.cursor,
          nowMs,
          updates: input.updates.flatMap(({ id, update }) => (id === null ? [] : [asAdmitted(id, update)])),
        });
        if (answer.kind === "admitted") {
          count("duplicate", answer.duplicates, nowMs);
          count("update-without-id", input.updates.filter(({ id }) => id === null).length, nowMs);
        }
        return answer;
      }),
    },
  });
}
