/**
 * Effects of the reconciliation chart: the view with a look at the processes that matter, one store transaction for each
 * action, the operator's answers.
 *
 * Owns: what an action writes. Does not own: which actions there are (`machines/reconciliation.rules.ts`).
 */
import { fromCallback, fromPromise } from "xstate";
import type { Epoch, InstanceId, Liveness, SeatKey } from "../machines/ids.ts";
import { freeSlot } from "../machines/names.rules.ts";
import { reconciliationMachine } from "../machines/reconciliation.machine.ts";
import type { RecordAnswer } from "../machines/reconciliation.machine.ts";
import { holdersToLookAt } from "../machines/reconciliation.rules.ts";
import type {
  OperatorOrder,
  ReconciliationAction,
  ReconciliationInput as PlanInput,
} from "../machines/reconciliation.rules.ts";
import type { OperatorRequest, OperatorWish, ReconciliationView } from "../machines/reconciliation.types.ts";
import { provideCleanup } from "./cleanup.ts";
import { giveThread, nameSeen } from "./give-thread.ts";
import { chatOf } from "./runtime.ts";
import type { Runtime, Signal } from "./runtime.ts";

/** Whoever comes back after everything was down gets so long before deadlines that passed meanwhile count, at most. */
const returnMs = 30_000;

export interface ReconciliationSide {
  /** Seats of this leadership on which somebody sits or is about to. */
  readonly heldSeats: () => ReadonlySet<SeatKey>;
  readonly changed: Signal<SeatKey>;
}

function lookAt(runtime: Runtime, view: ReconciliationView, nowMs: number): ReadonlyMap<InstanceId, Liveness> {
  const seats = new Set(holdersToLookAt(view, nowMs));
  for (const { wish } of view.requests) for (const seat of seatsOf(wish, view)) seats.add(seat);
  const looks = new Map<InstanceId, Liveness>();
  for (const { seat, instanceId, incarnation } of view.claims) {
    if (!seats.has(seat)) continue;
    try {
      looks.set(instanceId, runtime.ports.processes.liveness(incarnation));
    } catch (error) {
      runtime.ports.stage.log.event("warn", "liveness-look", { seat, reason: String(error) });
    }
  }
  return looks;
}

function seatsOf(wish: OperatorWish, view: ReconciliationView): readonly SeatKey[] {
  if ("seat" in wish) return [wish.seat];
  return view.bindings
    .filter(
      ({ thread: { target } }) => target.chatId === wish.target.chatId && target.threadId === wish.target.threadId,
    )
    .map(({ seat }) => seat);
}

const recorded = ({ kind }: { readonly kind: string }): RecordAnswer => ({
  kind: kind === "fenced" ? "fenced" : ["superseded", "unwanted", "gone"].includes(kind) ? "refused" : "done",
});

const doneText: Readonly<Record<OperatorOrder["kind"], string>> = {
  bind: "bound; the seat has this thread from its next registration on",
  delete: "the thread is deleted as soon as Telegram confirms it",
  unbind: "taken off the books; Telegram keeps the thread as it is",
  abandon: "the seat may create a thread again",
  endSeat: "the seat's holder counts as gone; its thread's grace time begins",
};

class Recorder {
  private readonly runtime: Runtime;
  private readonly epoch: Epoch;

  constructor(runtime: Runtime, epoch: Epoch) {
    this.runtime = runtime;
    this.epoch = epoch;
  }

  async record(action: ReconciliationAction): Promise<RecordAnswer> {
    const { cleanups, threads, registrations } = this.runtime.ports.store;
    const { epoch } = this;
    const atMs = this.runtime.ports.stage.clock.nowMs();
    switch (action.kind) {
      case "deleteThread":
        throw new Error("a deletion is not recorded, it is carried out");
      case "cancelCleanup":
        return recorded(await cleanups.cancel({ epoch, target: action.target }));
      case "startGrace": {
        const { seat, target, dueAtMs } = action;
        return recorded(await cleanups.intend({ epoch, seat, target, reason: "ended", atMs, dueAtMs }));
      }
      case "markThread": {
        const { target, standing, reason } = action;
        return recorded(await threads.mark({ epoch, target, standing, reason, atMs }));
      }
      case "adoptCreated":
        return this.adopt(action, atMs);
      case "dropCreation":
        return recorded(await threads.giveUp({ epoch, provisionId: action.provisionId, as: "abandoned" }));
      case "offerThread":
        return this.offer(action, atMs);
      case "forgetSeat": {
        const { seat, generation } = action;
        return recorded(await registrations.end({ epoch, seat, generation, reason: "forgotten", atMs }));
      }
      case "refuse":
        return this.answer(action.request, "refused", action.text);
      case "carryOut": {
        const outcome = await this.carryOut(action.order, atMs);
        if (outcome.kind === "fenced") return outcome;
        return outcome.kind === "refused"
          ? this.answer(action.request, "refused", "something else was faster: look again")
          : this.answer(action.request, "done", doneText[action.order.kind]);
      }
    }
  }

  /** On disk as made first, then bound to its seat; to one who has left for good it is not bound, but deleted. */
  private async adopt({ provision, target }: Extract<ReconciliationAction, { kind: "adoptCreated" }>, atMs: number) {
    const { threads, cleanups } = this.runtime.ports.store;
    const { id: provisionId, seat, slot } = provision;
    await threads.noteCreated({ provisionId, target, threadName: provision.threadName, atMs });
    // Users may have named it before anybody had it.
    const threadName = nameSeen((await cleanups.view()).observations, target) ?? provision.threadName;
    const thread = { target, slot, threadName };
    const reason = "made by a creation whose answer was lost";
    const binding = { seat, thread, createdAtMs: atMs, standing: "open" as const, reason, provenAtMs: atMs };
    return recorded(await threads.bind({ epoch: this.epoch, provisionId, binding }));
  }

  /** A thread that a seat has had is no stranger, whatever became of it. */
  private async offer({ target, threadName }: Extract<ReconciliationAction, { kind: "offerThread" }>, atMs: number) {
    const { threads } = this.runtime.ports.store;
    if ((await threads.seatOf(target)) !== null) return { kind: "refused" } as const;
    const reason = "the bot made it, and nobody knows for whom";
    return recorded(
      await threads.addLeftover({ epoch: this.epoch, leftover: { target, threadName, seat: null, reason, atMs } }),
    );
  }

  private async answer(request: OperatorRequest, kind: "done" | "refused", text: string): Promise<RecordAnswer> {
    const answer = { id: request.id, kind, text };
    return recorded(await this.runtime.ports.store.cleanups.answer({ epoch: this.epoch, answer }));
  }

  private async carryOut(order: OperatorOrder, atMs: number): Promise<RecordAnswer> {
    const { cleanups, threads, registrations } = this.runtime.ports.store;
    const { epoch } = this;
    switch (order.kind) {
      case "bind": {
        const { bindings, observations, provisions } = await cleanups.view();
        const begun = provisions.find((each) => each.id === order.provisionId);
        const slot = begun?.slot ?? freeSlot(bindings.map((each) => each.thread.slot)) ?? "";
        const threadName = nameSeen(observations, order.target) ?? begun?.threadName ?? slot;
        const thread = { target: order.target, slot, threadName };
        const binding = {
          seat: order.seat,
          thread,
          createdAtMs: atMs,
          standing: "suspect" as const,
          reason: "adopted by the operator",
          provenAtMs: atMs,
        };
        return recorded(await giveThread(this.runtime, { epoch, provisionId: order.provisionId, binding }));
      }
      case "delete":
        return recorded(
          await cleanups.intend({
            epoch,
            seat: order.seat,
            target: order.target,
            reason: "operator",
            atMs,
            dueAtMs: atMs,
          }),
        );
      case "unbind":
        return recorded(await cleanups.unbind({ epoch, target: order.target }));
      case "abandon":
        return recorded(await threads.giveUp({ epoch, provisionId: order.provisionId, as: "abandoned" }));
      case "endSeat": {
        const { seat, generation } = order;
        return recorded(await registrations.end({ epoch, seat, generation, reason: "forgotten", atMs }));
      }
    }
  }
}

export function provideReconciliation(runtime: Runtime, epoch: Epoch, side: ReconciliationSide) {
  const { store, stage } = runtime.ports;
  const { threadGraceMs, unprovableAfterMs } = runtime.settings;
  const recorder = new Recorder(runtime, epoch);
  const beganAtMs = stage.clock.elapsedMs();
  return reconciliationMachine.provide({
    actors: {
      watchThreads: fromCallback(({ sendBack }) =>
        side.changed.listen(() => {
          sendBack({ type: "reconciliation.wake" });
        }),
      ),
      viewThreads: fromPromise<PlanInput>(async () => {
        const view = await store.cleanups.view();
        const nowMs = stage.clock.nowMs();
        // By the clock of now, however it was set since.
        const leadingSinceMs = nowMs - (stage.clock.elapsedMs() - beganAtMs);
        return {
          nowMs,
          leadingSinceMs,
          chatId: chatOf(runtime),
          view,
          heldSeats: side.heldSeats(),
          looks: lookAt(runtime, view, nowMs),
          graceFromMs: leadingSinceMs + Math.min(returnMs, threadGraceMs ?? returnMs),
          threadGraceMs,
          unprovableAfterMs,
        };
      }),
      recordAction: fromPromise<RecordAnswer, { readonly epoch: Epoch; readonly action: ReconciliationAction }>(
        ({ input }) => recorder.record(input.action),
      ),
      awaitTurn: fromPromise<undefined>(async ({ signal }) => {
        await runtime.probes.deletion(signal);
        return undefined;
      }),
      cleanup: provideCleanup(runtime),
    },
  });
}
