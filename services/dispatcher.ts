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
import type { DispatcherCommand } from "../machines/activation.machine.ts";
import type { Epoch, Lane } from "../machines/ids.ts";
import { patienceMaxMs } from "../machines/delivery.machine.ts";
import type { deliveryMachine, DeliveryFact } from "../machines/delivery.machine.ts";
import { readUpdate } from "../machines/updates.rules.ts";
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

type DeliveryActor = Actor<typeof deliveryMachine>;

/** The dispatcher as a companion of the activation chart. `seatsChanged` fires when a seat got or lost its holder. */
export function provideDispatcher(runtime: Runtime, side: LeaderSide, seatsChanged: Signal) {
  return fromCallback<DispatcherCommand, { readonly epoch: Epoch }>(({ input: { epoch }, receive }) => {
    const dispatcher = createDispatcher(runtime, side, epoch);
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

function createDispatcher(runtime: Runtime, side: LeaderSide, epoch: Epoch) {
  const { store, stage } = runtime.ports;
  const inHand = new Map<Lane, DeliveryActor>();
  let isStopped = false;
  let isLooking = false;
  let isLookDue = false;
  let timer: unknown = null;

  const inputFor = (entry: JournalEntry, facts: UpdateFacts) => {
    const nowMs = stage.clock.nowMs();
    return {
      epoch,
      facts,
      audience: runtime.settings.audience,
      attempts: entry.attempts,
      notBeforeMs: Math.max(0, entry.nextAttemptAtMs - nowMs),
      patienceMs: Math.max(0, patienceMaxMs - (nowMs - entry.admittedAtMs)),
    };
  };

  const start = (entry: JournalEntry): void => {
    if (isStopped || inHand.has(entry.lane)) return;
    const facts = readUpdate(JSON.parse(entry.body));
    if (facts === null) throw new Error(`journal entry ${String(entry.seq)} has no update id`);
    const actor = createOnStage(stage, provideDelivery(runtime, side, entry, facts), {
      id: `${runtime.settings.me}/delivery/${String(entry.seq)}`,
      input: inputFor(entry, facts),
    });
    inHand.set(entry.lane, actor);
    const release = (): void => {
      if (inHand.get(entry.lane) !== actor) return;
      inHand.delete(entry.lane);
      look();
    };
    actor.on("*", (fact: DeliveryFact) => {
      stage.log.event("debug", fact.type, { seq: entry.seq, ...fact });
      // Another leader has the journal: nothing here may be started any more.
      if (fact.type === "delivery.fenced") isStopped = true;
    });
    actor.subscribe({
      complete: release,
      error: (error: unknown) => {
        stage.log.event("error", "delivery-broke", { seq: entry.seq, reason: String(error) });
        release();
      },
    });
    actor.start();
  };

  const lookOnce = async (): Promise<void> => {
    const limit = handMax - inHand.size;
    if (limit <= 0) return;
    const heads = await store.journal.heads({ except: [...inHand.keys()], limit });
    for (const entry of heads) start(entry);
  };

  /** Looks now, or once more after the look under way. */
  function look(): void {
    if (isStopped) return;
    isLookDue = true;
    if (isLooking) return;
    isLooking = true;
    void drain();
  }

  async function drain(): Promise<void> {
    while (isLookDue && !isStopped) {
      isLookDue = false;
      try {
        await lookOnce();
      } catch (error) {
        stage.log.event("error", "journal-read", { reason: String(error) });
      }
    }
    isLooking = false;
    schedule();
  }

  function schedule(): void {
    if (timer !== null) stage.clock.clearTimeout(timer);
    timer = isStopped ? null : stage.clock.setTimeout(look, lookEveryMs);
  }

  return {
    look,
    seatsChanged() {
      for (const actor of [...inHand.values()]) actor.send({ type: "seats.changed" });
      look();
    },
    stop() {
      isStopped = true;
      if (timer !== null) stage.clock.clearTimeout(timer);
      for (const actor of inHand.values()) actor.stop();
      inHand.clear();
    },
  };
}
