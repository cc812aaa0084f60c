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
import type { AcquisitionId, JournalSeq, Lane, UpdateId } from "../machines/ids.ts";
import type { AdmittedUpdate, AdoptOutcome, ClaimOutcome, JournalEntry } from "./ports.ts";
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

interface Taken {
  readonly entry: JournalEntry;
  readonly acquisition: AcquisitionId;
  /** The entry's body, read. */
  readonly update: unknown;
}

const takenFrom = (entry: JournalEntry, acquisition: AcquisitionId): Taken => ({
  entry,
  acquisition,
  update: JSON.parse(entry.body),
});

/** Between two requests to a store that does not answer, in milliseconds. */
const storeRetryMs = 250;

export class Inbox {
  private readonly runtime: Runtime;
  private readonly handOut: (update: HandedUpdate) => void;
  /** What is claimed by us and not yet settled, by the acquisition under which it was taken. */
  private readonly inHand = new Map<JournalSeq, AcquisitionId>();
  private readonly taking = new Map<UpdateId, Promise<ClaimOutcome["kind"]>>();
  private isClosed = false;
  /** Entries claimed and not yet handed out follow each other through this chain. */
  private last: Promise<void> = Promise.resolve();

  constructor(runtime: Runtime, handOut: (update: HandedUpdate) => void) {
    this.runtime = runtime;
    this.handOut = handOut;
  }

  /** Claims the earliest open entry with this id for our place and, unless it is in our hand already, hands it out. */
  take(updateId: UpdateId, place: OwnPlace): Promise<ClaimOutcome["kind"]> {
    // One claim for an update at a time: of two, the later's answer could overtake the earlier's.
    const begun = this.taking.get(updateId);
    if (begun !== undefined) return begun;
    const taking = this.takeOnce(updateId, place).finally(() => {
      this.taking.delete(updateId);
    });
    this.taking.set(updateId, taking);
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
    const given = asked.then((outcome) => {
      const claimed = outcome.kind === "adopted" ? outcome.claimed : null;
      return { ready: claimed === null ? null : this.prepare(takenFrom(claimed, acquisition), place), claimed };
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

  private async takeOnce(updateId: UpdateId, place: OwnPlace): Promise<ClaimOutcome["kind"]> {
    const acquisition = this.runtime.ports.ids.acquisition();
    const given = this.claimSurely(updateId, place, acquisition).then((outcome) => {
      const taken = this.takenBy(outcome, acquisition);
      return { kind: outcome.kind, ready: taken === null ? null : this.prepare(taken, place) };
    });
    // Handed out in the order in which takes began, whatever the order of the store's answers.
    this.last = this.last.then(async () => {
      await this.giveWhenReady(given);
    });
    return (await given).kind;
  }

  /** What an answer newly puts into our hand. */
  private takenBy(outcome: ClaimOutcome, acquisition: AcquisitionId): Taken | null {
    if (outcome.kind === "claimed") return takenFrom(outcome.entry, acquisition);
    // An earlier claim of ours went through and its answer did not reach us: only now do we know.
    if (outcome.kind === "repeated" && this.inHand.get(outcome.entry.seq) !== outcome.acquisition)
      return takenFrom(outcome.entry, outcome.acquisition);
    return null;
  }

  /**
   * Asks until the store has answered: a claim whose answer was lost may stand, and then only we can hand the entry out,
   * even if our registration is another one by now.
   */
  private async claimSurely(updateId: UpdateId, place: OwnPlace, acquisition: AcquisitionId): Promise<ClaimOutcome> {
    const { store, stage } = this.runtime.ports;
    const { seat, generation } = place;
    const claimant = { seat, instanceId: this.runtime.settings.me, generation, acquisition };
    for (;;) {
      try {
        return await store.work.claim({ updateId, claimant });
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

  /**
   * What must be on disk before a handler sees it: whose message it is, and, with `ack: "auto"`, that it is settled (at
   * most once from there). Asked for together, so that a burst is one commit. Resolves with how to hand it out.
   */
  private async prepare(taken: Taken, place: OwnPlace): Promise<() => void> {
    this.inHand.set(taken.entry.seq, taken.acquisition);
    const remembered = this.rememberMessage(taken.update, place);
    if (this.runtime.settings.ack === "explicit") {
      await remembered;
      return () => {
        this.giveOpen(taken);
      };
    }
    const settled = this.settleSurely(taken);
    await remembered;
    if (await settled)
      return () => {
        this.giveSettled(taken);
      };
    this.runtime.ports.stage.log.event("warn", "update-superseded", { seq: taken.entry.seq });
    return () => undefined;
  }

  private async giveWhenReady(given: Promise<{ readonly ready: Promise<() => void> | null }>): Promise<void> {
    try {
      const { ready } = await given;
      if (ready !== null) (await ready)();
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

  private shown({ entry, update }: Taken) {
    return { id: String(entry.seq), update, redelivered: entry.redelivered };
  }

  private async settle({ entry, acquisition }: Taken): Promise<boolean> {
    const { store, stage } = this.runtime.ports;
    const outcome = await store.work.settle({ seq: entry.seq, acquisition, nowMs: stage.clock.nowMs() });
    this.letGo(entry.seq, acquisition);
    return outcome.kind === "settled";
  }

  /** Asks until the store has answered: an entry that is neither settled nor handed out would be stuck in our hand. */
  private async settleSurely(taken: Taken): Promise<boolean> {
    const { log } = this.runtime.ports.stage;
    for (;;) {
      try {
        return await this.settle(taken);
      } catch (error) {
        log.event("error", "update-not-settled", { seq: taken.entry.seq, reason: String(error) });
        if (this.isClosed) return false;
        await this.pause();
      }
    }
  }

  private async fail({ entry, acquisition }: Taken, reason: string): Promise<boolean> {
    const { store, stage } = this.runtime.ports;
    const nextAttemptAtMs = stage.clock.nowMs() + attemptDelayMs(entry.attempts + 1);
    const outcome = await store.work.fail({ seq: entry.seq, acquisition, reason, nextAttemptAtMs });
    this.letGo(entry.seq, acquisition);
    return outcome.kind === "returned";
  }

  private letGo(seq: JournalSeq, acquisition: AcquisitionId): void {
    if (this.inHand.get(seq) === acquisition) this.inHand.delete(seq);
  }

  /** Calls on this message, and later reactions and edits, which name no thread, find their way by this record. */
  private async rememberMessage(update: unknown, place: OwnPlace): Promise<void> {
    const facts = readUpdate(update);
    if (facts === null || facts.chat === null || facts.message === null || facts.kind !== "message") return;
    const { store, stage } = this.runtime.ports;
    try {
      await store.ownership.record([{ chatId: facts.chat, messageId: facts.message, seat: place.seat }]);
    } catch (error) {
      stage.log.event("warn", "ownership-not-recorded", { reason: String(error) });
    }
  }
}
