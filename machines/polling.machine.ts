/**
 * The poller: asks Telegram for updates and makes them durable before it asks beyond them.
 *
 * Owns: the cursor, the order fetch → journal → next fetch, back-off.
 * Does not own: what updates mean, who gets them. It never waits for either.
 *
 * Journal rows and cursor are one commit, so no state lies between them: a crash before it makes Telegram give the batch
 * again, a crash after it is a poll that asks beyond a durable batch.
 *
 * Never asks with a negative offset: with no cursor it asks from Telegram's oldest.
 *
 * Invariants: polling/confirmedIsDurable, polling/neverTwo, instance/pollsOnlyAsLeader.
 */
import { assign, emit, enqueueActions, setup } from "xstate";
import type { Epoch, UpdateId } from "./ids.ts";
import { companion, slot } from "./slots.ts";
import { judgeBatch, refusalsMax } from "./updates.rules.ts";
import type { BatchVerdict } from "./updates.rules.ts";

export interface PollingInput {
  readonly epoch: Epoch;
  /** Telegram holds an empty poll open for so long. Default 30, at most 50. */
  readonly pollSeconds: number;
}

/** One answer to a poll. `jitter` is chance between 0 and 1, drawn by the effect. */
export type FetchAnswer = { readonly jitter: number } & (
  | { readonly kind: "batch"; readonly updates: readonly FetchedUpdate[] }
  /** 409: somebody else polls. */
  | { readonly kind: "conflict"; readonly reason: string }
  /** 409: a webhook is set, and no poll succeeds while it is. */
  | { readonly kind: "webhook"; readonly reason: string }
  | { readonly kind: "throttled"; readonly retryAfterMs: number; readonly reason: string }
  | { readonly kind: "unauthorized"; readonly reason: string }
  /** Not asked: the lease has run out unnoticed. */
  | { readonly kind: "unpermitted"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string }
);

/** An update as fetched: its id when it has a usable one, and its body, opaque to this chart. */
export interface FetchedUpdate {
  readonly id: UpdateId | null;
  readonly update: unknown;
}

export type AdmitAnswer =
  | { readonly kind: "admitted"; readonly added: number; readonly duplicates: number }
  | { readonly kind: "full" }
  | { readonly kind: "fenced" };

export interface FetchRequest {
  readonly cursor: UpdateId | null;
  readonly pollSeconds: number;
}
export interface AdmitRequest {
  readonly epoch: Epoch;
  readonly updates: readonly FetchedUpdate[];
  readonly cursor: UpdateId;
}

export interface PollingCommand {
  readonly type: "polling.stop";
}

export type PollingEvent =
  | PollingCommand
  /** Calls are made with another token from here on. */
  | { readonly type: "token.renewed" };

export type PollingFact =
  | { readonly type: "polling.started" }
  /** Telegram answered with updates or with none. */
  | { readonly type: "polling.answered"; readonly added: number }
  /** Telegram's ids go on below the cursor, or a batch came again and again in no order: it was taken all the same. */
  | {
      readonly type: "polling.idsAccepted";
      readonly from: UpdateId | null;
      readonly to: UpdateId;
      readonly why: string;
    }
  | { readonly type: "polling.troubled"; readonly trouble: PollingTrouble; readonly reason: string }
  | { readonly type: "polling.fenced" }
  | { readonly type: "polling.stopped" };

export type PollingTrouble =
  | "conflict"
  | "throttled"
  | "webhook"
  | "unauthorized"
  | "unpermitted"
  | "failed"
  | "refusedBatch"
  | "journalFull"
  | "store";

export interface PollingContext extends PollingInput {
  readonly cursor: UpdateId | null;
  readonly batch: readonly FetchedUpdate[];
  readonly verdict: BatchVerdict;
  /** Answers in a row that were no success; a successful poll alone sets it back. */
  readonly failures: number;
  /** Refused batches in a row, as far as it matters; a batch in order or an empty poll sets it back. */
  readonly refusals: number;
  readonly jitter: number;
  /** A delay that Telegram asked for; 0 = ours to choose. */
  readonly askedDelayMs: number;
  /** Polls in a row that Telegram refused for the token. */
  readonly rejections: number;
}

export const backOffMaxMs = 30_000;

/** Half of it certain, half of it chance, doubling from 250 ms up to the cap. */
export const backOffMs = (failures: number, jitter: number): number =>
  Math.min(backOffMaxMs, 250 * 2 ** Math.min(failures - 1, 7)) * (0.5 + jitter / 2);

/** Until a rejected token is read again, and tried again: 1, 2, 4, … seconds, at most a minute. */
export const rejectedPauseMs = (rejections: number): number =>
  Math.min(60_000, 1_000 * 2 ** Math.min(6, Math.max(0, rejections - 1)));

const troubled = (trouble: PollingTrouble, reason: string): PollingFact => ({
  type: "polling.troubled",
  trouble,
  reason,
});

function acceptedOf({ verdict, cursor }: PollingContext): PollingFact | null {
  if (verdict.kind !== "admit" || (!verdict.restarted && verdict.irregular === null)) return null;
  const why = verdict.irregular ?? "update ids that begin anew";
  return { type: "polling.idsAccepted", from: cursor, to: verdict.cursor, why };
}

const { createMachine } = setup({
  // Types only: these values are never read.
  types: {
    input: {} as PollingInput,
    context: {} as PollingContext,
    events: {} as PollingEvent,
    emitted: {} as PollingFact,
  },
  actors: {
    /** Removes the webhook; whether it did shows at the next poll. */
    clearWebhook: slot<undefined>("clearWebhook"),
    readCursor: slot<UpdateId | null>("readCursor"),
    fetchUpdates: slot<FetchAnswer, FetchRequest>("fetchUpdates"),
    admitUpdates: slot<AdmitAnswer, AdmitRequest>("admitUpdates"),
    /** Reads the token again; whether it helped shows at the next poll. */
    renewToken: slot<undefined>("renewToken"),
    /** Reports `token.renewed`. */
    watchToken: companion<{ readonly type: "never" }>("watchToken"),
  },
  delays: {
    backOff: ({ context }) => Math.max(context.askedDelayMs, backOffMs(context.failures, context.jitter)),
    retryInterval: 250,
    rejectedPause: ({ context }) => rejectedPauseMs(context.rejections),
  },
});

export const pollingMachine = createMachine({
  id: "polling",
  context: ({ input }) => ({
    ...input,
    cursor: null,
    batch: [],
    verdict: { kind: "empty" },
    failures: 0,
    refusals: 0,
    jitter: 1,
    askedDelayMs: 0,
    rejections: 0,
  }),
  initial: "bootstrapping",
  // Another token is of interest only to a poll that was refused for it.
  on: { "polling.stop": ".stopped", "token.renewed": {} },
  states: {
    bootstrapping: {
      initial: "readingCursor",
      states: {
        readingCursor: {
          invoke: {
            src: "readCursor",
            onDone: {
              target: "#polling.fetching",
              actions: [assign({ cursor: ({ event }) => event.output }), emit({ type: "polling.started" })],
            },
            onError: { target: "waiting", actions: emit(troubled("store", "the cursor could not be read")) },
          },
        },
        waiting: { after: { retryInterval: "readingCursor" } },
      },
    },

    /** A poll is open. Leaving the state cuts it. */
    fetching: {
      invoke: {
        src: "fetchUpdates",
        // After a rejection it is to be known at once whether the token is good.
        input: ({ context: { cursor, pollSeconds, rejections } }) => ({
          cursor,
          pollSeconds: rejections > 0 ? 0 : pollSeconds,
        }),
        onDone: [
          {
            guard: ({ event }) => event.output.kind === "batch",
            target: "judging",
            actions: assign({
              batch: ({ event: { output } }) => (output.kind === "batch" ? output.updates : []),
              verdict: ({ context, event: { output } }) =>
                judgeBatch(context, output.kind === "batch" ? output.updates.map((each) => each.id) : []),
              jitter: ({ event }) => event.output.jitter,
              rejections: 0,
            }),
          },
          {
            guard: ({ event }) => event.output.kind === "unauthorized",
            target: "rejected",
            actions: emit(({ event: { output } }) => troubled("unauthorized", "reason" in output ? output.reason : "")),
          },
          {
            guard: ({ event }) => event.output.kind === "webhook",
            target: "clearingWebhook",
            actions: [
              assign({ jitter: ({ event }) => event.output.jitter, askedDelayMs: 0 }),
              emit(({ event: { output } }) => troubled("webhook", "reason" in output ? output.reason : "")),
            ],
          },
          {
            guard: ({ event }) => event.output.kind === "conflict",
            target: "conflicted",
            actions: [
              assign({ jitter: ({ event }) => event.output.jitter }),
              emit(({ event: { output } }) => troubled("conflict", "reason" in output ? output.reason : "")),
            ],
          },
          {
            target: "backingOff",
            actions: [
              assign({
                jitter: ({ event }) => event.output.jitter,
                askedDelayMs: ({ event: { output } }) => (output.kind === "throttled" ? output.retryAfterMs : 0),
              }),
              emit(({ event: { output } }) =>
                output.kind === "batch" || output.kind === "conflict" || output.kind === "webhook"
                  ? troubled("failed", output.kind)
                  : troubled(output.kind, output.reason),
              ),
            ],
          },
        ],
        onError: {
          target: "backingOff",
          actions: [assign({ askedDelayMs: 0 }), emit(({ event }) => troubled("failed", String(event.error)))],
        },
      },
    },

    /** Passed through at once: the poll succeeded; is its batch one to admit? */
    judging: {
      always: [
        {
          guard: ({ context }) => context.verdict.kind === "admit",
          target: "journaling",
          actions: assign({ askedDelayMs: 0 }),
        },
        {
          guard: ({ context }) => context.verdict.kind === "empty",
          target: "fetching",
          actions: [
            assign({ failures: 0, refusals: 0, askedDelayMs: 0 }),
            emit({ type: "polling.answered", added: 0 }),
          ],
        },
        {
          target: "backingOff",
          actions: [
            assign({
              batch: [],
              askedDelayMs: 0,
              refusals: ({ context }) => Math.min(refusalsMax, context.refusals + 1),
            }),
            emit(({ context: { verdict } }) =>
              troubled("refusedBatch", verdict.kind === "refuse" ? verdict.reason : ""),
            ),
          ],
        },
      ],
    },

    /** The batch is in our hands only; Telegram still has it. */
    journaling: {
      invoke: {
        src: "admitUpdates",
        input: ({ context: { epoch, batch, verdict } }) => {
          if (verdict.kind !== "admit") throw new Error("the polling chart journals a batch it did not accept");
          return { epoch, updates: batch, cursor: verdict.cursor };
        },
        onDone: [
          {
            guard: ({ event }) => event.output.kind === "admitted",
            target: "fetching",
            actions: [
              emit(({ event: { output } }) => ({
                type: "polling.answered",
                added: output.kind === "admitted" ? output.added : 0,
              })),
              enqueueActions(({ context, enqueue }) => {
                const accepted = acceptedOf(context);
                if (accepted !== null) enqueue.emit(accepted);
              }),
              assign({
                // While batches go on to be out of order, each is taken as it comes.
                refusals: ({ context: { verdict, refusals } }) =>
                  verdict.kind === "admit" && verdict.irregular !== null ? refusals : 0,
                cursor: ({ context: { verdict, cursor } }) => (verdict.kind === "admit" ? verdict.cursor : cursor),
                batch: [],
                failures: 0,
              }),
            ],
          },
          {
            guard: ({ event }) => event.output.kind === "full",
            target: "backingOff",
            actions: [
              assign({ batch: [] }),
              emit(troubled("journalFull", "the journal holds its maximum; polling waits until work is done")),
            ],
          },
          { target: "stopped", actions: emit({ type: "polling.fenced" }) },
        ],
        onError: {
          target: "backingOff",
          actions: [
            assign({ batch: [] }),
            emit(({ event }) => troubled("store", `the batch could not be written: ${String(event.error)}`)),
          ],
        },
      },
    },

    /** Asked for only when there is one: a new leader's first poll need not wait for it. */
    clearingWebhook: { invoke: { src: "clearWebhook", onDone: "backingOff", onError: "backingOff" } },

    /** Telegram rejects the token: nothing but another one helps, and where it is in a file, that may have one by now. */
    rejected: {
      entry: assign({ rejections: ({ context }) => context.rejections + 1 }),
      invoke: { src: "watchToken", id: "watchToken" },
      on: { "token.renewed": "fetching" },
      after: { rejectedPause: "renewing" },
    },
    renewing: { invoke: { src: "renewToken", onDone: "fetching", onError: "fetching" } },

    backingOff: {
      entry: assign({ failures: ({ context }) => context.failures + 1 }),
      after: { backOff: "fetching" },
    },

    /** Somebody else polls this token. While the lease is ours we keep asking; who it is, an operator finds out. */
    conflicted: {
      entry: assign({ failures: ({ context }) => context.failures + 1, askedDelayMs: 0 }),
      after: { backOff: "fetching" },
    },

    stopped: { type: "final", entry: emit({ type: "polling.stopped" }) },
  },
});
