/**
 * The way from a claimed journal entry to this instance's handlers.
 *
 * Owns: taking entries (a claim in the store is the durable receipt), handing them out in order, settling them: at
 * dispatch with `ack: "auto"` (at most once from there), on the handler's word with `ack: "explicit"` (at least once).
 * Does not own: which entries come here (the leader routes), what handlers do. Handlers are not awaited before the next
 * update is handed out: one that waits for a later update would wait for ever.
 *
 * Invariants: an entry is handed out once per acquisition, also when the answer to its claim was lost and it is claimed
 * again; entries are handed out in the order in which they were claimed.
 */
import { attemptDelayMs } from "../machines/delivery.machine.ts";
import { readUpdate } from "../machines/updates.rules.ts";
import type { UpdateFacts } from "../machines/updates.rules.ts";
import type { AcquisitionId, JournalSeq, Lane, SeatKey, UpdateId } from "../machines/ids.ts";
import type { AdmittedUpdate, AdoptOutcome, ClaimOutcome, JournalEntry, MessageOwner } from "./ports.ts";
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

/** An update that came to us, by the wire or from our own journal. */
export interface Arrival {
  readonly updateId: UpdateId;
  /** The entry that is meant; null when whoever sent it has another journal. */
  readonly seq: JournalSeq | null;
  readonly update: unknown;
  readonly redelivered: boolean;
}

interface Taken {
  readonly seq: JournalSeq;
  readonly attempts: number;
  readonly redelivered: boolean;
  readonly acquisition: AcquisitionId;
  /** The entry's body, read. */
  readonly update: unknown;
}

const takenFrom = ({ seq, attempts, redelivered, body }: JournalEntry, acquisition: AcquisitionId): Taken => ({
  seq,
  attempts,
  redelivered,
  acquisition,
  update: JSON.parse(body),
});

/** Between two requests to a store that does not answer, in milliseconds. */
const storeRetryMs = 250;

export class Inbox {
  private readonly runtime: Runtime;
  private readonly handOut: (update: HandedUpdate) => void;
  /** What is claimed by us and not yet settled, by the acquisition under which it was taken. */
  private readonly inHand = new Map<JournalSeq, AcquisitionId>();
  private readonly taking = new Map<string, Promise<ClaimOutcome["kind"]>>();
  private isClosed = false;
  /** Entries claimed and not yet handed out follow each other through this chain. */
  private last: Promise<void> = Promise.resolve();

  constructor(runtime: Runtime, handOut: (update: HandedUpdate) => void) {
    this.runtime = runtime;
    this.handOut = handOut;
  }

  /** Claims what has arrived for our place and, unless it is in our hand already, hands it out. */
  take(arrival: Arrival, place: OwnPlace): Promise<ClaimOutcome["kind"]> {
    // One claim for an update at a time: of two, the later's answer could overtake the earlier's.
    const key = `${String(arrival.seq)}:${String(arrival.updateId)}`;
    const begun = this.taking.get(key);
    if (begun !== undefined) return begun;
    const taking = this.takeOnce(arrival, place).finally(() => {
      this.taking.delete(key);
    });
    this.taking.set(key, taking);
    return taking;
  }

  /**
   * Under a leader with a journal of its own: writes what it forwarded (null = nothing new) into ours and hands out what of
   * this lane is due, in order. Resolves once that is on disk; what it answers is the durable receipt.
   */
  async adopt(update: AdmittedUpdate | null, lane: Lane, place: OwnPlace): Promise<AdoptOutcome["kind"]> {
    const { store, stage, ids } = this.runtime.ports;
    const { seat, generation } = place;
    const acquisition = ids.acquisition();
    const claimant = { seat, instanceId: this.runtime.settings.me, generation, acquisition };
    const asked = store.work.adopt({ update, lane, claimant, nowMs: stage.clock.nowMs() });
    const given = asked.then(async (outcome) => {
      const claimed = outcome.kind === "adopted" ? outcome.claimed : null;
      return { give: claimed === null ? null : await this.prepare(takenFrom(claimed, acquisition), place), claimed };
    });
    this.last = this.last.then(async () => {
      await this.giveWhenReady(given);
    });
    const { kind } = await asked;
    // What came due meanwhile follows at once; a failed look is made up for by the next.
    if ((await given).claimed !== null && !this.isClosed)
      this.adopt(null, lane, place).catch((error: unknown) => {
        stage.log.event("warn", "update-not-adopted", { reason: String(error) });
      });
    return kind;
  }

  /** The instance ends: requests that the store has not answered are given up. */
  close(): void {
    this.isClosed = true;
  }

  private async takeOnce(arrival: Arrival, place: OwnPlace): Promise<ClaimOutcome["kind"]> {
    const acquisition = this.runtime.ports.ids.acquisition();
    const given = this.claimSurely(arrival, place, acquisition).then((outcome) => {
      const taken = this.takenBy(outcome, acquisition, arrival);
      return { kind: outcome.kind, give: taken === null ? null : this.wayOut(taken) };
    });
    // Handed out in the order in which takes began, whatever the order of the store's answers.
    this.last = this.last.then(async () => {
      await this.giveWhenReady(given);
    });
    return (await given).kind;
  }

  /** What an answer newly puts into our hand. */
  private takenBy(outcome: ClaimOutcome, acquisition: AcquisitionId, arrival: Arrival): Taken | null {
    if (outcome.kind === "claimed") return takenFrom(outcome.entry, acquisition);
    // An earlier claim of ours went through and its answer did not reach us: only now do we know.
    if (outcome.kind === "repeated" && this.inHand.get(outcome.entry.seq) !== outcome.acquisition)
      return takenFrom(outcome.entry, outcome.acquisition);
    // The same, and it is settled: the row is gone, but what arrived is in our hands.
    if (outcome.kind === "settledByUs" && arrival.seq !== null)
      return { seq: arrival.seq, attempts: 0, redelivered: arrival.redelivered, acquisition, update: arrival.update };
    return null;
  }

  /**
   * Asks until the store has answered: a claim whose answer was lost may stand, and then only we can hand the entry out,
   * even if our registration is another one by now. One change puts on disk all that must be there before a handler sees
   * the update: that it is ours, whose message it is, and, with `ack: "auto"`, that it is settled (at most once from there).
   */
  private async claimSurely(arrival: Arrival, place: OwnPlace, acquisition: AcquisitionId): Promise<ClaimOutcome> {
    const { store, stage } = this.runtime.ports;
    const { seat, generation } = place;
    const { updateId, seq, update } = arrival;
    const facts = readUpdate(update);
    const request = {
      updateId,
      seq,
      claimant: { seat, instanceId: this.runtime.settings.me, generation, acquisition },
      owners: facts === null ? [] : ownersOf(facts, seat),
      settleAtMs: this.runtime.settings.ack === "auto" ? stage.clock.nowMs() : null,
    };
    for (;;) {
      try {
        return await store.work.claim(request);
      } catch (error) {
        stage.log.event("error", "update-not-claimed", { updateId, reason: String(error) });
        if (this.isClosed) throw error;
        await this.pause();
      }
    }
  }

  private pause(): Promise<void> {
    return new Promise((resolve) => {
      this.runtime.ports.stage.clock.setTimeout(resolve, storeRetryMs);
    });
  }

  /** How to hand it out. With explicit ack it is in our hand until its handler is done. */
  private wayOut(taken: Taken): () => void {
    if (this.runtime.settings.ack === "auto")
      return () => {
        this.giveSettled(taken);
      };
    this.inHand.set(taken.seq, taken.acquisition);
    return () => {
      this.giveOpen(taken);
    };
  }

  /** For what was claimed and no more: the rest of what must be on disk before a handler sees it. */
  private async prepare(taken: Taken, place: OwnPlace): Promise<() => void> {
    const give = this.wayOut(taken);
    const { store, stage } = this.runtime.ports;
    const facts = readUpdate(taken.update);
    for (;;) {
      try {
        await store.ownership.record(facts === null ? [] : ownersOf(facts, place.seat));
        return this.runtime.settings.ack === "explicit" || (await this.settle(taken)) ? give : () => undefined;
      } catch (error) {
        stage.log.event("error", "update-not-settled", { seq: taken.seq, reason: String(error) });
        if (this.isClosed) return () => undefined;
        await this.pause();
      }
    }
  }

  private async giveWhenReady(given: Promise<{ readonly give: (() => void) | null }>): Promise<void> {
    try {
      const { give } = await given;
      give?.();
    } catch (error) {
      this.runtime.ports.stage.log.event("error", "update-not-handed-out", { reason: String(error) });
    }
  }

  private giveOpen(taken: Taken): void {
    this.handOut({
      ...this.shown(taken),
      ack: () => this.settle(taken),
      fail: (reason) => this.fail(taken, reason),
    });
  }

  private giveSettled(taken: Taken): void {
    this.handOut({ ...this.shown(taken), ack: () => Promise.resolve(true), fail: () => Promise.resolve(false) });
  }

  private shown({ seq, redelivered, update }: Taken) {
    return { id: String(seq), update, redelivered };
  }

  private async settle({ seq, acquisition }: Taken): Promise<boolean> {
    const { store, stage } = this.runtime.ports;
    const outcome = await store.work.settle({ seq, acquisition, nowMs: stage.clock.nowMs() });
    this.letGo(seq, acquisition);
    return outcome.kind === "settled";
  }

  private async fail({ seq, attempts, acquisition }: Taken, reason: string): Promise<boolean> {
    const { store, stage } = this.runtime.ports;
    const nextAttemptAtMs = stage.clock.nowMs() + attemptDelayMs(attempts + 1);
    const outcome = await store.work.fail({ seq, acquisition, reason, nextAttemptAtMs });
    this.letGo(seq, acquisition);
    return outcome.kind === "returned";
  }

  private letGo(seq: JournalSeq, acquisition: AcquisitionId): void {
    if (this.inHand.get(seq) === acquisition) this.inHand.delete(seq);
  }
}

/** Calls on this message, and later reactions and edits, which name no thread, find their way by this record. */
export function ownersOf(facts: UpdateFacts, seat: SeatKey): readonly MessageOwner[] {
  if (facts.chat === null || facts.message === null || facts.kind !== "message") return [];
  return [{ chatId: facts.chat, messageId: facts.message, seat }];
}
