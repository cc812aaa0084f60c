/**
 * The host's handlers: who listens, and that nothing they do reaches anybody else.
 *
 * Owns: calling them, keeping updates that come before the first handler, knowing which still run.
 * Does not own: what an update is worth to the store (`inbox.ts`).
 *
 * Invariants: handlers of updates are called in the order in which updates are handed out and are not waited for; a
 * handler that throws or rejects has failed, which is recorded before it is told; what other handlers throw is logged.
 */
import type { HandedUpdate } from "./inbox.ts";
import type { Log } from "./ports.ts";

export interface Trouble {
  /** What kind of thing went wrong: `store`, `thread`, `unauthorized`, `unavailable`, `endpoint`, `handler`, … */
  readonly kind: string;
  readonly message: string;
}

/** What handlers of an update get of it. */
export type GivenUpdate = Pick<HandedUpdate, "id" | "update" | "redelivered" | "ack">;
type UpdateHandler = (update: GivenUpdate) => unknown;
type Listener = (...values: readonly unknown[]) => unknown;

export class Handlers {
  private readonly log: Log;
  private readonly updateHandlers = new Set<UpdateHandler>();
  private readonly listeners = new Map<string, Set<Listener>>();
  /** Updates that came while nobody listened. */
  private early: HandedUpdate[] = [];
  private readonly running = new Set<Promise<void>>();

  constructor(log: Log) {
    this.log = log;
  }

  /** Attaches a handler of updates; whatever waited for one goes to it. Returns what detaches it. */
  onUpdate(handler: UpdateHandler): () => void {
    this.updateHandlers.add(handler);
    const waiting = this.early;
    this.early = [];
    for (const handed of waiting) this.handOut(handed);
    return () => {
      this.updateHandlers.delete(handler);
    };
  }

  on(event: string, listener: Listener): () => void {
    const listening = this.listeners.get(event) ?? new Set();
    this.listeners.set(event, listening.add(listener));
    return () => {
      listening.delete(listener);
    };
  }

  handOut(handed: HandedUpdate): void {
    if (this.updateHandlers.size === 0) this.early.push(handed);
    for (const handler of [...this.updateHandlers]) {
      const run = this.run(handler, handed);
      this.running.add(run);
      void run.finally(() => this.running.delete(run));
    }
  }

  /** Calls the listeners of an event; what they throw or reject with is logged. */
  tell(event: string, ...values: readonly unknown[]): void {
    for (const listener of [...(this.listeners.get(event) ?? [])]) void this.callSafely(event, listener, values);
  }

  trouble(what: Trouble): void {
    this.log.event("warn", "trouble", { ...what });
    this.tell("error", what);
  }

  /** Resolves when every handler that runs now has ended. */
  async ended(): Promise<void> {
    await Promise.all(this.running);
  }

  private async callSafely(event: string, listener: Listener, values: readonly unknown[]): Promise<void> {
    try {
      await listener(...values);
    } catch (error) {
      this.log.event("error", "handler-threw", { event, reason: String(error) });
    }
  }

  private async run(handler: UpdateHandler, handed: HandedUpdate): Promise<void> {
    const { id, update, redelivered, ack } = handed;
    try {
      await handler({ id, update, redelivered, ack });
    } catch (error) {
      await this.recordFailure(handed, String(error));
      this.trouble({ kind: "handler", message: `a handler of update ${id} failed: ${String(error)}` });
    }
  }

  private async recordFailure(handed: HandedUpdate, reason: string): Promise<void> {
    try {
      await handed.fail(reason);
    } catch (error) {
      const message = `the failure of update ${handed.id} was not recorded: ${String(error)}`;
      this.trouble({ kind: "store", message });
    }
  }
}
