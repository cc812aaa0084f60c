/**
 * Drains the journal while we lead: the earliest entries of each thread are in hand, threads run side by side.
 *
 * Owns: when to look for work, making and ending deliveries. Does not own: what becomes of an update
 * (`machines/delivery.machine.ts`), how many are in hand and in which order they go out (`hand.ts`), the journal's order.
 *
 * Independent of the poller: it may be as slow as it likes.
 */
import { fromCallback } from "xstate";
import type { DispatcherCommand, DispatcherFact } from "../machines/activation.machine.ts";
import type { Epoch, Lane, SeatKey } from "../machines/ids.ts";
import { attemptInMs } from "../machines/attempts.rules.ts";
import { patienceMaxMs, patienceMinMs } from "../machines/delivery.machine.ts";
import type { DeliveryFact, DeliveryInput } from "../machines/delivery.machine.ts";
import { laneOfThread, readUpdate, unreadable } from "../machines/updates.rules.ts";
import type { Audience, UpdateFacts } from "../machines/updates.rules.ts";
import { AwayNotices } from "./away.ts";
import { provideDelivery } from "./delivery.ts";
import type { LeaderSide } from "./delivery.ts";
import { Choosers } from "./choosers.ts";
import { Hand, laneMax } from "./hand.ts";
import type { JournalEntry } from "./ports.ts";
import { OutsideNotices } from "./outside.ts";
import { readAudience } from "./pairing.ts";
import type { Runtime, Signal } from "./runtime.ts";
import { createOnStage } from "./stage.ts";

/** A look at the journal without a reason, in milliseconds: entries come back to it without notice. */
const lookEveryMs = 500;

export interface DispatcherSignals {
  /** Tells which seat got or lost its holder. */
  readonly seatsChanged: Signal<SeatKey>;
  /** Somebody besides the poller put an update into the journal. */
  readonly admitted: Signal;
}

/** The dispatcher as a companion of the activation chart. */
export function provideDispatcher(runtime: Runtime, side: LeaderSide, signals: DispatcherSignals) {
  return fromCallback<DispatcherCommand, { readonly epoch: Epoch }>(({ input: { epoch }, receive, sendBack }) => {
    const dispatcher = new Dispatcher(runtime, side, {
      epoch,
      onFenced: () => {
        sendBack({ type: "dispatcher.fenced" } satisfies DispatcherFact);
      },
    });
    receive(() => {
      dispatcher.look();
    });
    const unlisten = [
      signals.seatsChanged.listen((seat) => {
        dispatcher.seatChanged(seat);
      }),
      signals.admitted.listen(() => {
        dispatcher.look();
      }),
    ];
    dispatcher.look();
    return () => {
      for (const each of unlisten) each();
      dispatcher.stop();
    };
  });
}

class Dispatcher {
  private readonly runtime: Runtime;
  private readonly side: LeaderSide;
  private readonly epoch: Epoch;
  private readonly onFenced: () => void;
  private readonly hand = new Hand();
  private readonly away: AwayNotices;
  private readonly choosers: Choosers;
  private readonly outside: OutsideNotices;
  private readonly machine: ReturnType<typeof provideDelivery>;
  /** Lanes whose head was not taken lately, and how often in a row: their pauses grow. */
  private readonly refusals = new Map<Lane, number>();
  private readonly sinceMs: number;
  private isStopped = false;
  private isLooking = false;
  /** What to look at next: everything, or these lanes. */
  private due: Due = nothingDue;
  /** Where looks left something that was no longer, or not yet, to be begun: worth a look when one of the lane is over. */
  private left: Due = nothingDue;
  private timer: unknown = null;

  constructor(
    runtime: Runtime,
    side: LeaderSide,
    leadership: { readonly epoch: Epoch; readonly onFenced: () => void },
  ) {
    this.runtime = runtime;
    this.side = side;
    this.epoch = leadership.epoch;
    this.onFenced = leadership.onFenced;
    this.sinceMs = runtime.ports.stage.clock.nowMs();
    this.away = new AwayNotices(runtime, leadership.epoch);
    this.outside = new OutsideNotices(runtime, side, leadership.epoch);
    this.choosers = new Choosers(runtime, side, {
      epoch: this.epoch,
      waitingIn: (lanes) => this.hand.unownedIn(lanes),
      onMoved: (lanes, seqs) => {
        this.hand.endChoice(lanes, seqs);
        this.look();
      },
      onRestored: (seat) => {
        this.seatChanged(seat);
      },
      onFenced: () => {
        this.fence();
      },
    });
    this.machine = provideDelivery(runtime, side, {
      hand: this.hand,
      onPress: (update) => {
        this.choosers.press(update);
      },
      onOutside: (facts) => {
        this.outside.tell(facts);
      },
    });
  }

  /** Looks at the whole journal, now or after the look under way. */
  look(): void {
    this.lookAt("all");
  }

  seatChanged(seat: SeatKey): void {
    const target = this.side.seats.sitterOf(seat)?.thread.target ?? null;
    this.hand.seatChanged(seat, target === null ? null : laneOfThread(target));
    this.choosers.seatsChanged();
    this.look();
  }

  stop(): void {
    this.isStopped = true;
    this.runtime.ports.stage.clock.clearTimeout(this.timer);
    this.choosers.stop();
    this.hand.stop();
  }

  private lookAt(what: Lane | "all"): void {
    if (this.isStopped) return;
    this.due = what === "all" || this.due === "all" ? "all" : new Set([...this.due, what]);
    if (!this.isLooking) void this.drain();
  }

  private async drain(): Promise<void> {
    const { clock, log } = this.runtime.ports.stage;
    this.isLooking = true;
    while (this.isDue() && !this.isStopped) {
      const due = this.due;
      this.due = nothingDue;
      try {
        await this.lookOnce(due);
      } catch (error) {
        log.event("error", "journal-read", { reason: String(error) });
      }
    }
    this.isLooking = false;
    clock.clearTimeout(this.timer);
    if (!this.isStopped)
      this.timer = clock.setTimeout(() => {
        this.look();
      }, lookEveryMs);
  }

  private isDue(): boolean {
    return this.due === "all" || this.due.size > 0;
  }

  private async lookOnce(due: Due): Promise<void> {
    const { room, urgentRoom } = this.hand;
    // With every place taken, what may end the work that takes them is looked for all the same.
    const only = room <= 0 ? this.hand.urgentLanes() : due === "all" ? null : [...due];
    const limit = room <= 0 ? urgentRoom : room;
    const except = this.hand.closedLanes();
    const perLane = this.hand.isScarce ? 1 : laneMax;
    if (room <= 0) this.left = "all";
    else this.left = due === "all" ? nothingDue : without(this.left, due);
    this.leave(due === "all" ? except : except.filter((lane) => due.has(lane)));
    if (limit <= 0) return;
    const { journal } = this.runtime.ports.store;
    const first = await journal.heads({ except, only, perLane, limit });
    if (first.length >= limit) this.left = "all";
    this.leave(lanesOf(first, perLane));
    // Read by itself: what waits for a choice must not fill the place of what can be delivered.
    const unowned = due === "all" && room > 0 ? this.hand.unownedLanes() : [];
    const behind = unowned.length === 0 ? [] : await journal.heads({ except: [], only: unowned, perLane, limit });
    const heads = [...first, ...behind];
    // Read after the entries: whoever lost the pairing before one of them came is not obeyed.
    const audience = heads.length === 0 ? null : await readAudience(this.runtime);
    for (const entry of heads) this.begin(entry, audience);
  }

  private leave(lanes: readonly Lane[]): void {
    if (this.left !== "all") this.left = new Set([...this.left, ...lanes]);
  }

  private begin(entry: JournalEntry, audience: Audience | null): void {
    this.hand.endMoved(entry);
    // In a lane in trouble one after another, until one of them is taken again.
    const ofLaneMax = this.refusals.has(entry.lane) ? 1 : laneMax;
    if (this.isStopped || this.hand.has(entry.seq)) return;
    if (!this.hand.admits(entry, ofLaneMax)) {
      this.leave([entry.lane]);
      return;
    }
    const { stage } = this.runtime.ports;
    const update: unknown = JSON.parse(entry.body);
    const facts = readUpdate(update) ?? unreadable(entry.updateId);
    const input = this.inputFor(entry, facts, audience);
    const id = `${this.runtime.settings.me}/delivery/${String(entry.seq)}`;
    const delivery = createOnStage(stage, this.machine, { id, input });
    this.hand.add({ entry, facts, update }, delivery, input.notBeforeMs > 0);
    let isTaken = false;
    delivery.on("*", (fact: DeliveryFact) => {
      stage.log.event("debug", fact.type, { seq: entry.seq, ...fact });
      isTaken = fact.type !== "delivery.returned" && fact.type !== "delivery.fenced";
      this.onFact(entry, fact);
    });
    delivery.subscribe({
      complete: () => {
        this.release(entry, isTaken);
      },
      error: (error: unknown) => {
        stage.log.event("error", "delivery-broke", { seq: entry.seq, reason: String(error) });
        this.release(entry, false);
      },
    });
    delivery.start();
  }

  private onFact({ lane, seq }: JournalEntry, fact: DeliveryFact): void {
    this.choosers.onDelivery(seq, fact.type);
    // Another leader has the journal: nothing here may be started any more.
    if (fact.type === "delivery.fenced") this.fence();
    if (fact.type === "delivery.waiting") {
      this.hand.park(seq, fact.seat);
      this.away.tell(this.hand.work(seq));
    } else if (fact.type === "delivery.unowned") {
      this.hand.awaitChoice(seq, fact.isAsked);
      this.choosers.unowned(this.hand.work(seq), fact.isAsked);
    } else if (fact.type !== "delivery.returned") this.refusals.delete(lane);
    else if (fact.refusals > 0) this.refusals.set(lane, fact.refusals);
  }

  private fence(): void {
    if (this.isStopped) return;
    this.isStopped = true;
    this.onFenced();
  }

  private release({ lane, seq }: JournalEntry, isTaken: boolean): void {
    this.hand.remove(seq, isTaken);
    // Whatever else there was is in hand, and what comes is told: most ends need no look.
    if (!isTaken || this.left === "all" || this.left.has(lane)) this.lookAt(lane);
  }

  private inputFor(entry: JournalEntry, facts: UpdateFacts, audience: Audience | null): DeliveryInput {
    const nowMs = this.runtime.ports.stage.clock.nowMs();
    const until = Math.max(entry.admittedAtMs + patienceMaxMs, this.sinceMs + patienceMinMs);
    return {
      epoch: this.epoch,
      seq: entry.seq,
      facts,
      audience,
      attempts: entry.attempts,
      notBeforeMs: attemptInMs(entry, nowMs),
      refusals: this.refusals.get(entry.lane) ?? 0,
      // A clock that was set back makes nobody wait for longer.
      patienceMs: Math.min(patienceMaxMs, Math.max(0, until - nowMs)),
    };
  }
}

type Due = ReadonlySet<Lane> | "all";
const nothingDue: Due = new Set<Lane>();

/** Lanes of which there are `count` or more. */
function lanesOf(entries: readonly JournalEntry[], count: number): readonly Lane[] {
  const counts = new Map<Lane, number>();
  for (const { lane } of entries) counts.set(lane, (counts.get(lane) ?? 0) + 1);
  return [...counts].flatMap(([lane, found]) => (found < count ? [] : [lane]));
}

const without = (left: Due, lanes: ReadonlySet<Lane>): Due =>
  left === "all" ? left : new Set([...left].filter((lane) => !lanes.has(lane)));
