/**
 * The way from a claimed journal entry to this instance's handlers.
 *
 * Owns: taking entries (a claim in the store is the durable receipt), handing them out in order, settling them: at
 * dispatch with `ack: "auto"` (at most once from there), on the handler's word with `ack: "explicit"` (at least once).
 * Does not own: which entries come here (the leader routes), what handlers do. Handlers are not awaited before the next
 * update is handed out: one that waits for a later update would wait for ever.
 *
 * Invariants: an entry is handed out once per claim; entries are handed out in the order in which they were claimed.
 */
import { attemptDelayMs } from "../machines/delivery.machine.ts";
import { readUpdate } from "../machines/updates.rules.ts";
import type { JournalSeq, AcquisitionId, UpdateId } from "../machines/ids.ts";
import type { ClaimOutcome, JournalEntry } from "./ports.ts";
import type { OwnPlace, Runtime } from "./runtime.ts";

/** An update as handlers get it. */
export interface HandedUpdate {
  /** The same for every delivery of this update. */
  readonly id: string;
  /** As Telegram sent it. */
  readonly update: unknown;
  /** An earlier process of this seat took it and died before it was done. */
  readonly redelivered: boolean;
  /** With explicit ack: the update is done. False = it was not ours to settle any more. */
  readonly ack: () => Promise<boolean>;
  /** With explicit ack: the handler failed; the update comes again later, at most twelve times. */
  readonly fail: (reason: string) => Promise<boolean>;
}

export interface Inbox {
  /** Claims the earliest open entry with this id for our place and, when it is new, hands it out. */
  take(updateId: UpdateId, place: OwnPlace): Promise<ClaimOutcome["kind"]>;
}

interface Taken {
  readonly entry: JournalEntry;
  readonly acquisition: AcquisitionId;
}

export function createInbox(runtime: Runtime, handOut: (update: HandedUpdate) => void): Inbox {
  const { store, ids, stage } = runtime.ports;
  const { settings } = runtime;
  /** Entries claimed and not yet handed out follow each other through this chain. */
  let last: Promise<void> = Promise.resolve();

  const settle = async (seq: JournalSeq, acquisition: AcquisitionId): Promise<boolean> => {
    const outcome = await store.work.settle({ seq, acquisition, nowMs: stage.clock.nowMs() });
    return outcome.kind === "settled";
  };

  const fail = async ({ entry, acquisition }: Taken, reason: string): Promise<boolean> => {
    const nextAttemptAtMs = stage.clock.nowMs() + attemptDelayMs(entry.attempts + 1);
    const outcome = await store.work.fail({ seq: entry.seq, acquisition, reason, nextAttemptAtMs });
    return outcome.kind === "returned";
  };

  const give = (taken: Taken): void => {
    const { entry, acquisition } = taken;
    const isSettled = settings.ack === "auto";
    handOut({
      id: String(entry.seq),
      update: JSON.parse(entry.body) as unknown,
      redelivered: entry.redelivered,
      ack: () => (isSettled ? Promise.resolve(true) : settle(entry.seq, acquisition)),
      fail: (reason) => (isSettled ? Promise.resolve(false) : fail(taken, reason)),
    });
  };

  /** Settled before it is handed out: at most once from here. What cannot be settled is not ours to run. */
  const dispatch = async (taken: Taken, settled: Promise<boolean>): Promise<void> => {
    try {
      if (await settled) give(taken);
      else stage.log.event("warn", "update-superseded", { seq: taken.entry.seq });
    } catch (error) {
      stage.log.event("error", "update-not-settled", { seq: taken.entry.seq, reason: String(error) });
    }
  };

  /** Later reactions and edits of this message name no thread; they find their way by this record. */
  const rememberMessage = (entry: JournalEntry, place: OwnPlace): void => {
    const facts = readUpdate(JSON.parse(entry.body));
    if (facts?.chat === null || facts?.message === null || facts?.kind !== "message") return;
    store.ownership
      .record([{ chatId: facts.chat, messageId: facts.message, seat: place.seat }])
      .catch((error: unknown) => {
        stage.log.event("warn", "ownership-not-recorded", { reason: String(error) });
      });
  };

  return {
    async take(updateId, place) {
      const acquisition = ids.acquisition();
      const outcome = await store.work.claim({
        updateId,
        claimant: { seat: place.seat, instanceId: settings.me, generation: place.generation, acquisition },
      });
      if (outcome.kind !== "claimed") return outcome.kind;
      const taken = { entry: outcome.entry, acquisition };
      const settled = settings.ack === "auto" ? settle(taken.entry.seq, acquisition) : Promise.resolve(true);
      rememberMessage(outcome.entry, place);
      last = last.then(() => dispatch(taken, settled));
      return "claimed";
    },
  };
}
