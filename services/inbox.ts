/**
 * The way from a journal entry into this instance's hand.
 *
 * Owns: taking entries (a claim in the store is the durable receipt), refusing them when the hand is full, passing them on
 * in order. Does not own: which entries come here (the leader routes), what is in hand (`holdings.ts`), what becomes of
 * them (`queue.ts`).
 *
 * Invariants: an entry is passed on once per acquisition, also when the answer to its claim was lost and it is claimed
 * again; entries are passed on in the order in which they were claimed.
 */
import { lane as laneNamed } from "../machines/ids.ts";
import { isUrgentUpdate } from "../machines/shape.rules.ts";
import { isAgentUpdateId } from "../machines/agents.rules.ts";
import { readUpdate } from "../machines/updates.rules.ts";
import type { UpdateFacts } from "../machines/updates.rules.ts";
import type { AcquisitionId, JournalSeq, Lane, SeatKey, UpdateId } from "../machines/ids.ts";
import type { AdmittedUpdate, AdoptOutcome, ClaimOutcome, MessageOwner } from "./ports.ts";
import { takenFrom } from "./holdings.ts";
import type { Holdings, Taken } from "./holdings.ts";
import type { OwnPlace, Runtime } from "./runtime.ts";

/** An update that came to us, by the wire or from our own journal. */
export interface Arrival {
  readonly updateId: UpdateId;
  /** The entry that is meant; null when whoever sent it has another journal. */
  readonly seq: JournalSeq | null;
  readonly update: unknown;
  readonly redelivered: boolean;
}

/** `full`: the hand has no room; no claim was made. */
export type TakeOutcome = ClaimOutcome["kind"] | "full";

/** Whether the entry is in our hand, or ended: nobody need give it to us again. */
export const isTaken = (outcome: TakeOutcome): boolean =>
  outcome === "claimed" || outcome === "repeated" || outcome === "settled" || outcome === "settledByUs";

export interface HandState {
  readonly holdings: Holdings;
  /** Whether what is taken now goes to a handler at once: then, with `ack: "auto"`, the claim settles it. */
  readonly isFlowing: () => boolean;
}

export class Inbox {
  private readonly runtime: Runtime;
  private readonly hand: HandState;
  private readonly passOn: (taken: Taken) => void;
  private readonly taking = new Map<string, Promise<TakeOutcome>>();
  private isClosed = false;
  /** Entries claimed and not yet handed out follow each other through this chain. */
  private last: Promise<void> = Promise.resolve();

  constructor(runtime: Runtime, hand: HandState, passOn: (taken: Taken) => void) {
    this.runtime = runtime;
    this.hand = hand;
    this.passOn = passOn;
  }

  /** Claims what has arrived for our place and, unless it is in our hand already, passes it on. */
  take(arrival: Arrival, place: OwnPlace): Promise<TakeOutcome> {
    // One claim for an update at a time: of two, the later's answer could overtake the earlier's.
    const key = `${String(arrival.seq)}:${String(arrival.updateId)}`;
    const begun = this.taking.get(key);
    if (begun !== undefined) return begun;
    if (!this.hand.holdings.hasRoom(this.taking.size, isUrgentUpdate(arrival.update))) return Promise.resolve("full");
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
    // What waits in the journal is looked at again; what is new is the leader's to give again.
    if (!this.hand.holdings.hasRoom(this.taking.size, false)) return update === null ? "adopted" : "full";
    const acquisition = ids.acquisition();
    const claimant = { seat, instanceId: this.runtime.settings.me, generation, acquisition };
    const asked = store.work.adopt({ update, lane, claimant, nowMs: stage.clock.nowMs() });
    const given = asked.then(async (outcome) => {
      const claimed = outcome.kind === "adopted" ? outcome.claimed : null;
      const taken = claimed === null ? null : takenFrom(claimed, acquisition, false);
      if (taken !== null) {
        this.hand.holdings.take(taken);
        await this.rememberMessage(taken, place);
      }
      return { taken };
    });
    this.last = this.last.then(async () => {
      await this.passOnWhenGiven(given);
    });
    const { kind } = await asked;
    // What came due meanwhile follows at once; a failed look is made up for by the next.
    if ((await given).taken !== null && !this.isClosed)
      this.adopt(null, lane, place).catch((error: unknown) => {
        stage.log.event("warn", "update-not-adopted", { reason: String(error) });
      });
    return kind;
  }

  /** The instance ends: requests that the store has not answered are given up. */
  close(): void {
    this.isClosed = true;
  }

  private async takeOnce(arrival: Arrival, place: OwnPlace): Promise<TakeOutcome> {
    const acquisition = this.runtime.ports.ids.acquisition();
    const isSettling = this.runtime.settings.ack === "auto" && this.hand.isFlowing();
    // It may leave the hand, settled, while the store's answer is on its way: then the answer brings nothing new either.
    const before = arrival.seq === null ? null : (this.hand.holdings.get(arrival.seq)?.acquisition ?? null);
    const claimed = this.claimSurely(arrival, place, { acquisition, isSettling });
    const given = claimed.then((outcome) => {
      const isNew = outcome.kind !== "repeated" || outcome.acquisition !== before;
      const taken = isNew ? this.takenBy(outcome, arrival, { acquisition, isSettling }) : null;
      if (taken !== null) this.hand.holdings.take(taken);
      return { kind: outcome.kind, taken };
    });
    // Passed on in the order in which takes began, whatever the order of the store's answers.
    this.last = this.last.then(async () => {
      await this.passOnWhenGiven(given);
    });
    return (await given).kind;
  }

  /** What an answer newly puts into our hand. */
  private takenBy(outcome: ClaimOutcome, arrival: Arrival, { acquisition, isSettling }: Claiming): Taken | null {
    if (outcome.kind === "claimed") return takenFrom(outcome.entry, acquisition, isSettling);
    // An earlier claim of ours went through and its answer did not reach us: only now do we know.
    if (outcome.kind === "repeated" && !this.hand.holdings.holds(outcome.entry.seq, outcome.acquisition))
      return takenFrom(outcome.entry, outcome.acquisition, isSettling);
    // The same, and it is settled: the row is gone, but what arrived is in our hands.
    if (outcome.kind === "settledByUs" && arrival.seq !== null) {
      const { seq, redelivered, update } = arrival;
      return {
        entry: { seq, lane: laneNamed("none"), attempts: 0, redelivered },
        acquisition,
        update,
        isSettled: true,
      };
    }
    return null;
  }

  /**
   * Asks until the store has answered: a claim whose answer was lost may stand, and then only we can hand the entry out,
   * even if our registration is another one by now. One change puts on disk all that must be there before a handler sees
   * the update: that it is ours, whose message it is, and, where it goes to a handler at once, that it is settled.
   */
  private async claimSurely(
    arrival: Arrival,
    place: OwnPlace,
    { acquisition, isSettling }: Claiming,
  ): Promise<ClaimOutcome> {
    const { store, stage } = this.runtime.ports;
    const { seat, generation } = place;
    const { updateId, seq, update } = arrival;
    const facts = readUpdate(update);
    const request = {
      updateId,
      seq,
      claimant: { seat, instanceId: this.runtime.settings.me, generation, acquisition },
      owners: facts === null ? [] : ownersOf(facts, seat),
      settleAtMs: isSettling ? stage.clock.nowMs() : null,
    };
    for (;;) {
      try {
        return await store.work.claim(request);
      } catch (error) {
        stage.log.event("error", "update-not-claimed", { updateId, reason: String(error) });
        if (this.isClosed) throw error;
        await this.hand.holdings.pause();
      }
    }
  }

  /** For what was claimed and no more: whose message it is must be on disk before a handler sees it. */
  private async rememberMessage({ entry, update }: Taken, place: OwnPlace): Promise<void> {
    const { store, stage } = this.runtime.ports;
    const facts = readUpdate(update);
    for (;;) {
      try {
        await store.ownership.record(facts === null ? [] : ownersOf(facts, place.seat));
        return;
      } catch (error) {
        stage.log.event("error", "ownership-not-recorded", { seq: entry.seq, reason: String(error) });
        if (this.isClosed) return;
        await this.hand.holdings.pause();
      }
    }
  }

  private async passOnWhenGiven(given: Promise<{ readonly taken: Taken | null }>): Promise<void> {
    try {
      const { taken } = await given;
      if (taken !== null) this.passOn(taken);
    } catch (error) {
      this.runtime.ports.stage.log.event("error", "update-not-handed-out", { reason: String(error) });
    }
  }
}

interface Claiming {
  readonly acquisition: AcquisitionId;
  /** The claim settles the entry, too. */
  readonly isSettling: boolean;
}

/** Calls on this message, and later reactions and edits, which name no thread, find their way by this record. */
export function ownersOf(facts: UpdateFacts, seat: SeatKey): readonly MessageOwner[] {
  if (facts.chat === null || facts.message === null || facts.kind !== "message") return [];
  // Another agent's message is its sender's to edit and to delete, whoever gets it.
  if (isAgentUpdateId(facts.updateId)) return [];
  return [{ chatId: facts.chat, messageId: facts.message, seat }];
}
