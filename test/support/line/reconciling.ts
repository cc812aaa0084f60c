/**
 * One leader's reconciliation in virtual time: the real chart, services and store in memory, before a scripted Telegram.
 *
 * Owns: who leads, whose process lives, what was asked of Telegram and when. Does not own: any behaviour of these.
 */
import { MemoryDatabase, openMemoryStore } from "../../../adapters/store/memory/index.ts";
import type { Epoch, InstanceId, Liveness, SeatKey } from "../../../machines/ids.ts";
import type { OperatorWish } from "../../../machines/reconciliation.types.ts";
import type { ReconciliationFact } from "../../../machines/reconciliation.machine.ts";
import type { CallOutcome, Store } from "../../../services/ports.ts";
import { Probes } from "../../../services/probes.ts";
import { provideReconciliation } from "../../../services/reconciliation.ts";
import { createSignal, emptyBoard } from "../../../services/runtime.ts";
import type { Runtime } from "../../../services/runtime.ts";
import { createOnStage } from "../../../services/stage.ts";
import * as the from "../../unit/store/fixtures.ts";
import { ManualClock } from "../wire/manual-clock.ts";
import { ScriptedTelegram } from "../wire/scripted-telegram.ts";

export class Reconciling {
  readonly clock = new ManualClock();
  readonly database = new MemoryDatabase("reconciling");
  readonly store: Store = openMemoryStore({ database: this.database, clock: this.clock });
  readonly telegram = new ScriptedTelegram();
  readonly probes = new Probes(this.clock);
  readonly held = new Set<SeatKey>();
  /** By instance; who is missing is alive. */
  readonly processes = new Map<InstanceId, Liveness>();
  readonly facts: ReconciliationFact[] = [];
  readonly changed = createSignal<SeatKey>();
  private requests = 0;

  /** Threads that Telegram was asked to delete, in order. */
  get deleted(): readonly unknown[] {
    return this.telegram.of("deleteForumTopic").map(({ payload }) => payload["message_thread_id"]);
  }

  /** Takes the lease and reconciles under it; whoever did before goes on, as a process that has not noticed. */
  async lead(instance = 1): Promise<Epoch> {
    const epoch = await the.lead(this.store, instance);
    this.reconcile(epoch);
    return epoch;
  }

  reconcile(epoch: Epoch): void {
    const actor = createOnStage(this.runtime(epoch).ports.stage, this.machine(epoch), {
      id: `reconciliation ${String(epoch)}`,
      input: { epoch },
    });
    actor.on("*", (fact) => void this.facts.push(fact));
    actor.start();
  }

  /** A seat that is bound to the thread of its number; `gen` = registered under that generation. */
  async seat(epoch: Epoch, n: number, gen: string | null = null): Promise<void> {
    await this.store.threads.bind({ epoch, provisionId: null, binding: the.binding(n, n) });
    if (gen !== null) await this.store.registrations.commit({ epoch, registration: the.registration(n, n, gen) });
  }

  async claim(n: number): Promise<void> {
    await this.store.seats.claim({
      seat: the.seat(n),
      instanceId: the.instance(n),
      incarnation: the.incarnation(n),
      expected: null,
      threadGraceMs: the.graceMs,
    });
  }

  /** An operator asks; what is told within `patienceMs`. */
  async ask(wish: OperatorWish, patienceMs = 2_000): Promise<string | null> {
    const id = `r${String((this.requests += 1))}`;
    await this.store.cleanups.ask({ id, wish, atMs: this.clock.nowMs() });
    await this.clock.advance(patienceMs);
    const answer = await this.store.cleanups.answerTo(id);
    return answer === null ? null : `${answer.kind}: ${answer.text}`;
  }

  /** A message that is on its way for so long. */
  say(text: string, forMs: number): void {
    void this.probes.ahead(
      () =>
        new Promise<void>((resolve) => {
          void this.telegram.call("sendMessage", { text }, { signal: new AbortController().signal });
          this.clock.setTimeout(resolve, forMs);
        }),
    );
  }

  rejectDeletion(description: string): void {
    this.telegram.answer("deleteForumTopic", () => ({ kind: "rejected", error: { error_code: 400, description } }));
  }

  answerDeletion(outcome: CallOutcome): void {
    this.telegram.answer("deleteForumTopic", () => outcome);
  }

  private machine(epoch: Epoch) {
    return provideReconciliation(this.runtime(epoch), epoch, { heldSeats: () => this.held, changed: this.changed });
  }

  private runtime(epoch: Epoch): Runtime {
    const { clock, store, telegram, probes } = this;
    const liveness = ({ pid }: { readonly pid: number }): Liveness =>
      [...this.processes].find(([id]) => id.startsWith(`${String(pid)}:`))?.[1] ?? "alive";
    const log = { event: () => undefined };
    const signal = new AbortController().signal;
    // Reconciliation reads no more of a runtime than this.
    return {
      ports: { stage: { clock, log, inspect: () => undefined }, store, telegram, processes: { liveness }, v1: null },
      chats: { now: the.target(1).chatId },
      settings: { threadGraceMs: the.graceMs, unprovableAfterMs: null },
      // It does not notice that somebody else leads: the store does.
      gate: { permit: () => ({ epoch, remainingMs: 6_000, signal }) },
      board: emptyBoard(),
      probes,
    } as unknown as Runtime;
  }
}
