/**
 * What this instance holds of the journal, from the claim to the end of its handlers, and the ways out of its hand.
 *
 * Owns: the bound on what is in hand, settling (alone and together), returning after a failure.
 * Does not own: claims (`inbox.ts`), what is done next (`queue.ts`).
 *
 * Invariants: an entry counts as in hand until it is settled or returned *and* its handlers have ended; only the
 * acquisition under which it was taken settles or returns it.
 */
import { attemptDelayMs } from "../machines/attempts.rules.ts";
import { handMax, urgentReserve } from "../machines/queue.rules.ts";
import type { AcquisitionId, JournalSeq } from "../machines/ids.ts";
import type { JournalEntry } from "./ports.ts";
import { createSignal } from "./runtime.ts";
import type { Runtime, Signal } from "./runtime.ts";

/** A claimed entry. */
export interface Taken {
  readonly entry: Pick<JournalEntry, "seq" | "lane" | "attempts" | "redelivered">;
  readonly acquisition: AcquisitionId;
  /** The entry's body, read. */
  readonly update: unknown;
  /** The claim settled it: it goes to a handler at once. */
  readonly isSettled: boolean;
}

export const takenFrom = (entry: JournalEntry, acquisition: AcquisitionId, isSettled: boolean): Taken => ({
  entry,
  acquisition,
  update: JSON.parse(entry.body),
  isSettled,
});

/** Between two requests to a store that does not answer, in milliseconds. */
export const storeRetryMs = 250;

/** Why an entry is still in hand. */
interface Hold {
  readonly taken: Taken;
  /** Neither settled nor returned. */
  isOpen: boolean;
  /** Waits in the queue, or a handler works on it. */
  isBusy: boolean;
}

export class Holdings {
  /** Fires when something has left the hand. */
  readonly onRoom: Signal = createSignal();
  private readonly runtime: Runtime;
  private readonly held = new Map<JournalSeq, Hold>();
  private isClosed = false;

  constructor(runtime: Runtime) {
    this.runtime = runtime;
  }

  /** Whether one more may be claimed, `besides` those whose claims are under way. */
  hasRoom(besides: number, isUrgent: boolean): boolean {
    return this.held.size + besides < handMax + (isUrgent ? urgentReserve : 0);
  }

  /** Under this acquisition. */
  holds(seq: JournalSeq, acquisition: AcquisitionId): boolean {
    return this.held.get(seq)?.taken.acquisition === acquisition;
  }

  take(taken: Taken): void {
    this.held.set(taken.entry.seq, { taken, isOpen: !taken.isSettled, isBusy: true });
  }

  get(seq: JournalSeq): Taken | null {
    return this.held.get(seq)?.taken ?? null;
  }

  /** Nothing works on it any more; it stays in hand while it is open. */
  done(seq: JournalSeq, acquisition: AcquisitionId): void {
    this.change(seq, acquisition, (hold) => {
      hold.isBusy = false;
    });
  }

  /** It is not ours any more, without our doing: another instance has it. */
  drop(taken: readonly Taken[]): void {
    for (const { entry, acquisition } of taken) {
      this.closed(entry.seq, acquisition);
      this.done(entry.seq, acquisition);
    }
  }

  /** The instance ends: requests that the store has not answered are given up. */
  close(): void {
    this.isClosed = true;
  }

  /** All of them or none. False = at least one was not ours any more; then nothing was settled. */
  async settle(taken: readonly Taken[]): Promise<boolean> {
    const { store, stage } = this.runtime.ports;
    const nowMs = stage.clock.nowMs();
    const entries = taken.map(({ entry, acquisition }) => ({ seq: entry.seq, acquisition }));
    const [only] = entries;
    const outcome =
      only !== undefined && entries.length === 1
        ? await store.work.settle({ ...only, nowMs })
        : await store.queue.settleAll({ entries, nowMs });
    // What is not ours any more is not open in our hand either: an instance loses its entries together, with its seat.
    for (const { seq, acquisition } of entries) this.closed(seq, acquisition);
    return outcome.kind === "settled";
  }

  /** Asks until the store has answered: an entry that is neither settled nor handed out would be stuck in our hand. */
  async settleSurely(taken: readonly Taken[]): Promise<boolean> {
    const { log } = this.runtime.ports.stage;
    for (;;) {
      try {
        return await this.settle(taken);
      } catch (error) {
        const seqs = taken.map(({ entry }) => entry.seq);
        log.event("error", "update-not-settled", { seqs, reason: String(error) });
        if (this.isClosed) return false;
        await this.pause();
      }
    }
  }

  /** Ends entries that leave without a handler. What is another's by now is left alone. */
  async discard(taken: readonly Taken[]): Promise<void> {
    if (taken.length === 0) return;
    if (!(await this.settleSurely(taken)) && taken.length > 1)
      await Promise.all(taken.map((each) => this.settleSurely([each])));
    this.drop(taken);
  }

  /**
   * Its handler failed: it goes back, one attempt older. Asks until the store has answered: what stayed in our hand would be
   * given to nobody while we live. False = it was not ours any more, or went back by a request whose answer was lost.
   */
  async fail({ entry, acquisition }: Taken, reason: string): Promise<boolean> {
    const { store, stage } = this.runtime.ports;
    const nextAttemptAtMs = stage.clock.nowMs() + attemptDelayMs(entry.attempts + 1);
    for (;;) {
      try {
        const outcome = await store.work.fail({ seq: entry.seq, acquisition, reason, nextAttemptAtMs });
        this.closed(entry.seq, acquisition);
        return outcome.kind === "returned";
      } catch (error) {
        stage.log.event("error", "failure-not-recorded", { seq: entry.seq, reason: String(error) });
        if (this.isClosed) throw error;
        await this.pause();
      }
    }
  }

  pause(): Promise<void> {
    return new Promise((resolve) => {
      this.runtime.ports.stage.clock.setTimeout(resolve, storeRetryMs);
    });
  }

  private closed(seq: JournalSeq, acquisition: AcquisitionId): void {
    this.change(seq, acquisition, (hold) => {
      hold.isOpen = false;
    });
  }

  private change(seq: JournalSeq, acquisition: AcquisitionId, change: (hold: Hold) => void): void {
    const hold = this.held.get(seq);
    if (hold?.taken.acquisition !== acquisition) return;
    change(hold);
    if (hold.isOpen || hold.isBusy) return;
    this.held.delete(seq);
    this.onRoom.fire();
  }
}
