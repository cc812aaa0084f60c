/**
 * Drains the journal while we lead: the earliest entry of each thread is in one delivery's hand, threads run side by side.
 *
 * Owns: when to look for work, how many deliveries run at once, that a lane is in one hand at a time.
 * Does not own: what becomes of an update (`machines/delivery.machine.ts`), the journal's order.
 *
 * Independent of the poller: it may be as slow as it likes.
 */
import { fromCallback } from "xstate";
import type { Actor } from "xstate";
import type { DispatcherCommand, DispatcherFact } from "../machines/activation.machine.ts";
import type { Epoch, Lane } from "../machines/ids.ts";
import { patienceMaxMs } from "../machines/delivery.machine.ts";
import type { deliveryMachine, DeliveryFact, DeliveryInput } from "../machines/delivery.machine.ts";
import { readUpdate, unreadable } from "../machines/updates.rules.ts";
import type { UpdateFacts } from "../machines/updates.rules.ts";
import { provideDelivery } from "./delivery.ts";
import type { LeaderSide } from "./delivery.ts";
import type { JournalEntry } from "./ports.ts";
import type { Runtime, Signal } from "./runtime.ts";
import { createOnStage } from "./stage.ts";

/** Deliveries at once, waiting ones included: one for each thread with work. */
const handMax = 1_024;
/** A look at the journal without a reason, in milliseconds: entries come back to it without notice. */
const lookEveryMs = 500;

/** The dispatcher as a companion of the activation chart. `seatsChanged` fires when a seat got or lost its holder. */
export function provideDispatcher(runtime: Runtime, side: LeaderSide, seatsChanged: Signal) {
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
    const unlisten = seatsChanged.listen(() => {
      dispatcher.seatsChanged();
    });
    dispatcher.look();
    return () => {
      unlisten();
      dispatcher.stop();
    };
  });
}

class Dispatcher {
  private readonly runtime: Runtime;
  private readonly side: LeaderSide;
  private readonly epoch: Epoch;
  private readonly onFenced: () => void;
  private readonly inHand = new Map<Lane, Actor<typeof deliveryMachine>>();
  /** Lanes whose head was not taken lately, and how often in a row: their pauses grow. */
  private readonly refusals = new Map<Lane, number>();
  private isStopped = false;
  private isLooking = false;
  private isLookDue = false;
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
  }

  /** Looks now, or once more after the look under way. */
  look(): void {
    if (this.isStopped) return;
    this.isLookDue = true;
    if (!this.isLooking) void this.drain();
  }

  seatsChanged(): void {
    for (const delivery of [...this.inHand.values()]) delivery.send({ type: "seats.changed" });
    this.look();
  }

  stop(): void {
    this.isStopped = true;
    this.runtime.ports.stage.clock.clearTimeout(this.timer);
    for (const delivery of this.inHand.values()) delivery.stop();
    this.inHand.clear();
  }

  private async drain(): Promise<void> {
    const { clock, log } = this.runtime.ports.stage;
    this.isLooking = true;
    while (this.isLookDue && !this.isStopped) {
      this.isLookDue = false;
      try {
        await this.lookOnce();
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

  private async lookOnce(): Promise<void> {
    const limit = handMax - this.inHand.size;
    if (limit <= 0) return;
    const heads = await this.runtime.ports.store.journal.heads({ except: [...this.inHand.keys()], limit });
    for (const entry of heads) this.begin(entry);
  }

  private begin(entry: JournalEntry): void {
    if (this.isStopped || this.inHand.has(entry.lane)) return;
    const { runtime, side } = this;
    const { stage } = runtime.ports;
    const facts = readUpdate(JSON.parse(entry.body)) ?? unreadable(entry.updateId);
    const delivery = createOnStage(stage, provideDelivery(runtime, side, entry, facts), {
      id: `${runtime.settings.me}/delivery/${String(entry.seq)}`,
      input: this.inputFor(entry, facts),
    });
    this.inHand.set(entry.lane, delivery);
    delivery.on("*", (fact: DeliveryFact) => {
      stage.log.event("debug", fact.type, { seq: entry.seq, ...fact });
      // Another leader has the journal: nothing here may be started any more.
      if (fact.type === "delivery.fenced") this.fence();
      if (fact.type === "delivery.returned" && fact.refusals > 0) this.refusals.set(entry.lane, fact.refusals);
      else if (fact.type !== "delivery.waiting") this.refusals.delete(entry.lane);
    });
    delivery.subscribe({
      complete: () => {
        this.release(entry.lane);
      },
      error: (error: unknown) => {
        stage.log.event("error", "delivery-broke", { seq: entry.seq, reason: String(error) });
        this.release(entry.lane);
      },
    });
    delivery.start();
  }

  private fence(): void {
    if (this.isStopped) return;
    this.isStopped = true;
    this.onFenced();
  }

  private release(lane: Lane): void {
    this.inHand.delete(lane);
    this.look();
  }

  private inputFor(entry: JournalEntry, facts: UpdateFacts): DeliveryInput {
    const nowMs = this.runtime.ports.stage.clock.nowMs();
    return {
      epoch: this.epoch,
      facts,
      audience: this.runtime.settings.audience,
      attempts: entry.attempts,
      notBeforeMs: Math.max(0, entry.nextAttemptAtMs - nowMs),
      refusals: this.refusals.get(entry.lane) ?? 0,
      patienceMs: Math.max(0, patienceMaxMs - (nowMs - entry.admittedAtMs)),
    };
  }
}
