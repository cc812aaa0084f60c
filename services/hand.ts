/**
 * What is in the dispatcher's hand: updates under way, lane by lane, in their order.
 *
 * Owns: how many of a lane and in all, whose turn it is to be sent, which deliveries wait for which seat.
 * Does not own: what becomes of an update (`machines/delivery.machine.ts`), the journal's order.
 *
 * Invariants: within a lane nothing is sent before everything ahead of it is; a lane whose first update is in trouble gets
 * no further ones; a delivery that waits, for a seat, for its turn, for its next try, takes no place from others; one that
 * waits for a seat is woken by that seat alone, one that waits for a choice by every seat; however many lanes are stuck, as
 * long as they are fewer than half the places every other lane has one, and what is urgent in a stuck one has its own places.
 */
import type { Actor } from "xstate";
import type { deliveryMachine } from "../machines/delivery.machine.ts";
import type { JournalSeq, Lane, SeatKey } from "../machines/ids.ts";
import { isUrgentLane, ordinaryLaneOf, urgentLaneOf } from "../machines/updates.rules.ts";
import type { UpdateFacts } from "../machines/updates.rules.ts";
import type { JournalEntry } from "./ports.ts";

/** Deliveries under way at once, besides those that wait. */
export const activeMax = 1_024;
/** With so many under way a lane has one of them: an instance that does not answer must not take the places of others. */
const sharedAbove = activeMax / 2;
/** Deliveries that wait. Beyond it the journal keeps the rest, and the dispatcher looks again later. */
const waitingMax = 10_000;
/** Places beside all these for what is urgent. */
const urgentMax = 64;
/** Updates of one lane under way at once. */
export const laneMax = 32;

/** One update under way. */
export interface Work {
  readonly entry: JournalEntry;
  readonly facts: UpdateFacts;
  /** The update, read once. */
  readonly update: unknown;
}

export type Turn = "go" | "early";

interface Held extends Work {
  readonly delivery: Actor<typeof deliveryMachine>;
  /** It went out on a way that keeps the order, and nothing has come back but perhaps an acceptance. */
  isSent: boolean;
  keepsOrder: boolean;
  /** Nothing of it is under way: its time, its turn or its seat has not come. */
  isWaiting: boolean;
  parkedOn: SeatKey | null;
  /** Nobody has its thread: it waits for the user's choice, or for what decides about something ahead of it. */
  choice: "none" | "asked" | "behind";
  turn: ((turn: Turn) => void) | null;
}

interface HeldLane {
  /** In the journal's order. */
  readonly works: Held[];
}

export class Hand {
  private readonly lanes = new Map<Lane, HeldLane>();
  private readonly bySeq = new Map<JournalSeq, Held>();
  private readonly parked = new Map<SeatKey, Set<Held>>();
  private waitingCount = 0;

  /** Places for further deliveries. */
  get room(): number {
    return this.waitingCount >= waitingMax ? 0 : Math.max(0, activeMax - this.activeCount);
  }

  /** Places for urgent ones when there is no `room`. */
  get urgentRoom(): number {
    return this.waitingCount >= waitingMax ? 0 : Math.max(0, activeMax + urgentMax - this.activeCount);
  }

  private get activeCount(): number {
    return this.bySeq.size - this.waitingCount;
  }

  /** The urgent lanes beside those in hand. */
  urgentLanes(): readonly Lane[] {
    return [...new Set([...this.lanes.keys()].map((lane) => urgentLaneOf(ordinaryLaneOf(lane))))];
  }

  /** Lanes that take no further update for now: in trouble, waiting, or full; when places are scarce, all that have one. */
  closedLanes(): readonly Lane[] {
    return [...this.lanes].flatMap(([lane, { works }]) => (!this.isScarce && isOpen(works) ? [] : [lane]));
  }

  /** Lanes have one place each. */
  get isScarce(): boolean {
    return this.activeCount >= sharedAbove;
  }

  /** An entry that waits here for its old seat, or for a choice, has been moved: that wait is over. */
  endMoved({ seq, lane }: JournalEntry): void {
    const held = this.bySeq.get(seq);
    if (held === undefined || held.entry.lane === lane || (held.parkedOn === null && !isUnowned(held))) return;
    this.remove(seq, false);
    held.delivery.stop();
  }

  has(seq: JournalSeq): boolean {
    return this.bySeq.has(seq);
  }

  /** Whether `entry`, which is not in hand, may come into it now, as one of at most `ofLaneMax` of its lane. */
  admits(entry: JournalEntry, ofLaneMax: number): boolean {
    const places = isUrgentLane(entry.lane) ? this.urgentRoom : this.room;
    if (places <= 0) return false;
    const works = this.lanes.get(entry.lane)?.works ?? [];
    const last = works.at(-1);
    if (this.isScarce && last !== undefined) return false;
    // What comes back to the journal while later ones are out is older than they: it comes when they are done.
    return works.length < ofLaneMax && (last === undefined || last.entry.seq < entry.seq);
  }

  /** Puts an update into the hand; its delivery is not started yet. `isLater`: it will wait for its time first. */
  add(work: Work, delivery: Actor<typeof deliveryMachine>, isLater: boolean): void {
    const held: Held = {
      ...work,
      delivery,
      isSent: false,
      keepsOrder: true,
      isWaiting: false,
      parkedOn: null,
      choice: "none",
      turn: null,
    };
    const lane = this.lanes.get(work.entry.lane) ?? { works: [] };
    lane.works.push(held);
    this.lanes.set(work.entry.lane, lane);
    this.bySeq.set(work.entry.seq, held);
    this.setWaiting(held, isLater);
  }

  /** The update under way with this number; it is there as long as its delivery asks. */
  work(seq: JournalSeq): Work {
    return this.held(seq);
  }

  /**
   * Resolves when everything ahead in its lane has been sent: `early` when something ahead was not taken. What is behind
   * follows at once if the way keeps the order, and otherwise when this one is taken.
   */
  turnOf(seq: JournalSeq, keepsOrder: boolean): Promise<Turn> {
    const held = this.held(seq);
    held.keepsOrder = keepsOrder;
    const isNext = this.isNext(held);
    this.setWaiting(held, !isNext);
    if (!isNext)
      return new Promise((resolve) => {
        held.turn = resolve;
      });
    held.isSent = keepsOrder;
    const go = Promise.resolve<Turn>("go");
    // Registered before the caller's own continuation, and resolves those behind only: they run after the caller.
    void go.then(() => {
      this.giveTurns(this.laneOf(held));
    });
    return go;
  }

  /** What came back of a forward was no acceptance: whatever is behind it and not sent comes later. */
  notTaken(seq: JournalSeq): void {
    const held = this.bySeq.get(seq);
    if (held === undefined) return;
    this.setWaiting(held, true);
    this.holdBack(held);
  }

  /** Its delivery waits for a seat: it gives its place to others. */
  park(seq: JournalSeq, seat: SeatKey): void {
    const held = this.bySeq.get(seq);
    if (held === undefined || held.parkedOn !== null) return;
    held.parkedOn = seat;
    this.setWaiting(held, true);
    this.parked.set(seat, (this.parked.get(seat) ?? new Set()).add(held));
    this.holdBack(held);
  }

  /** Its delivery waits for the user's choice: it gives its place to others. */
  awaitChoice(seq: JournalSeq, isAsked: boolean): void {
    const held = this.bySeq.get(seq);
    if (held === undefined) return;
    held.choice = isAsked ? "asked" : "behind";
    this.setWaiting(held, true);
    this.holdBack(held);
  }

  /** What waits for a choice in these lanes, in their order. */
  unownedIn(lanes: readonly Lane[]): readonly Work[] {
    return lanes.flatMap((lane) => (this.lanes.get(lane)?.works ?? []).filter(isUnowned));
  }

  /** Lanes in which something waits for a choice: what comes behind it may be asked about, too. */
  unownedLanes(): readonly Lane[] {
    return [...this.lanes].flatMap(([lane, { works }]) => (works.some(isUnowned) ? [lane] : []));
  }

  /** The choice was made: these entries are in none of these lanes any more, and whatever is known of them is old. */
  endChoice(lanes: readonly Lane[], seqs: readonly JournalSeq[]): void {
    for (const seq of seqs) {
      const held = this.bySeq.get(seq);
      if (held === undefined || !lanes.includes(held.entry.lane)) continue;
      this.remove(seq, false);
      held.delivery.stop();
    }
  }

  /** Whether something earlier of its lane is in hand. */
  isBehind(seq: JournalSeq): boolean {
    const held = this.held(seq);
    return this.laneOf(held).works[0] !== held;
  }

  /** Takes an update whose delivery is over out of the hand. `isTaken`: what is behind it may go on. */
  remove(seq: JournalSeq, isTaken: boolean): void {
    const held = this.bySeq.get(seq);
    if (held === undefined) return;
    if (!isTaken) this.holdBack(held);
    this.setWaiting(held, false);
    this.bySeq.delete(seq);
    this.unpark(held);
    const lane = this.lanes.get(held.entry.lane);
    if (lane === undefined) return;
    lane.works.splice(lane.works.indexOf(held), 1);
    if (lane.works.length === 0) this.lanes.delete(held.entry.lane);
    else this.giveTurns(lane);
    // It waited for what is gone by now: it looks anew whose it is.
    const [first] = lane.works;
    if (first?.choice === "behind") first.delivery.send({ type: "seats.changed" });
  }

  /** Tells everything under way, and what waits for this seat or in this lane, that a seat changed hands. */
  seatChanged(seat: SeatKey, lane: Lane | null): void {
    const waiting = this.parked.get(seat) ?? [];
    const ofLane = lane === null ? [] : (this.lanes.get(lane)?.works ?? []);
    const active = [...this.bySeq.values()].filter((held) => held.parkedOn === null);
    for (const held of new Set([...active, ...waiting, ...ofLane])) held.delivery.send({ type: "seats.changed" });
  }

  stop(): void {
    for (const { delivery, turn } of this.bySeq.values()) {
      delivery.stop();
      turn?.("early");
    }
    this.lanes.clear();
    this.bySeq.clear();
    this.parked.clear();
    this.waitingCount = 0;
  }

  private setWaiting(held: Held, isWaiting: boolean): void {
    if (held.isWaiting === isWaiting) return;
    held.isWaiting = isWaiting;
    this.waitingCount += isWaiting ? 1 : -1;
  }

  private held(seq: JournalSeq): Held {
    const held = this.bySeq.get(seq);
    if (held === undefined) throw new Error(`the update ${String(seq)} is not in hand`);
    return held;
  }

  private laneOf(held: Held): HeldLane {
    return this.lanes.get(held.entry.lane) ?? { works: [] };
  }

  private isNext(held: Held): boolean {
    const { works } = this.laneOf(held);
    return works.slice(0, works.indexOf(held)).every((ahead) => ahead.isSent);
  }

  private giveTurns({ works }: HeldLane): void {
    for (const held of works) {
      if (held.turn !== null) {
        this.setWaiting(held, false);
        held.turn("go");
        held.turn = null;
        held.isSent = held.keepsOrder;
      }
      if (!held.isSent) return;
    }
  }

  private holdBack(held: Held): void {
    held.isSent = false;
    const { works } = this.laneOf(held);
    for (const behind of works.slice(works.indexOf(held) + 1)) {
      behind.turn?.("early");
      behind.turn = null;
    }
  }

  private unpark(held: Held): void {
    if (held.parkedOn === null) return;
    const waiting = this.parked.get(held.parkedOn);
    waiting?.delete(held);
    if (waiting?.size === 0) this.parked.delete(held.parkedOn);
    held.parkedOn = null;
  }
}

const isUnowned = ({ choice }: Held): boolean => choice !== "none";
const isOpen = (works: readonly Held[]): boolean => works.length < laneMax && works.every((held) => held.isSent);
