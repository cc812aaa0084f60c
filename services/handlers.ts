/**
 * The host's handlers: who listens, and that nothing they do reaches anybody else.
 *
 * Owns: calling them, telling the queue whether anybody listens, knowing which still run.
 * Does not own: what an update is worth to the store (`queue.ts`), what waits.
 *
 * Invariants: handlers are called in the order in which updates are handed out; a handler that throws or rejects has failed,
 * which is recorded before it is told; what other handlers throw is logged.
 */
import type { CommandDone, HandedTurn, HandedUpdate, Listening, QueueHost } from "./queue.ts";
import type { Log } from "./ports.ts";
import type { Settings } from "./runtime.ts";

export interface Trouble {
  /** What kind of thing went wrong: `store`, `thread`, `unauthorized`, `unavailable`, `endpoint`, `handler`, … */
  readonly kind: string;
  readonly message: string;
}

/** What handlers of an update get of it. */
export type GivenUpdate = Pick<HandedUpdate, "id" | "update" | "redelivered" | "ack">;
/** What handlers of a turn get of it. */
export type GivenTurn = Omit<HandedTurn, "fail">;
type UpdateHandler = (update: GivenUpdate) => unknown;
type TurnHandler = (turn: GivenTurn) => unknown;
type Listener = (...values: readonly unknown[]) => unknown;

export class Handlers implements QueueHost {
  private readonly log: Log;
  private readonly updateHandlers = new Set<UpdateHandler>();
  private readonly turnHandlers = new Set<TurnHandler>();
  private readonly listeners = new Map<string, Set<Listener>>();
  private readonly running = new Set<Promise<void>>();
  private readonly style: Settings["host"];
  private listening: Listening = { updates: () => undefined, turns: () => undefined };
  private heard = { updates: false, turns: false };
  private whenHeard: (() => void)[] = [];

  constructor(log: Log, style: Settings["host"]) {
    this.log = log;
    this.style = style;
  }

  /** Says who is to know; told at once if somebody listens already. */
  reportTo(listening: Listening): void {
    this.listening = listening;
    this.heard = { updates: false, turns: false };
    this.report();
  }

  /** Attaches a handler of updates; whatever waited for one goes to it. Returns what detaches it. */
  onUpdate(handler: UpdateHandler): () => void {
    return this.attach(this.updateHandlers, handler);
  }

  /** Attaches a handler of turns. A turn is over when all of them have ended. */
  onTurn(handler: TurnHandler): () => void {
    return this.attach(this.turnHandlers, handler);
  }

  on(event: string, listener: Listener): () => void {
    const listening = this.listeners.get(event) ?? new Set();
    this.listeners.set(event, listening.add(listener));
    return () => {
      listening.delete(listener);
    };
  }

  async handOut(handed: HandedUpdate): Promise<void> {
    const { id, update, redelivered, ack } = handed;
    // The last handler may have been detached on the way here. A host that works in turns need not listen beside them.
    while (this.style === "updates" && this.updateHandlers.size === 0)
      await new Promise<void>((resolve) => this.whenHeard.push(resolve));
    await this.runAll([...this.updateHandlers], { id, update, redelivered, ack }, handed);
  }

  runTurn(turn: HandedTurn): Promise<void> {
    const { fail: _, ...given } = turn;
    return this.runAll([...this.turnHandlers], given, turn);
  }

  commandDone(done: CommandDone): void {
    this.tell("command", done);
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
  async drained(): Promise<void> {
    await Promise.all(this.running);
  }

  private attach<Handler>(handlers: Set<Handler>, handler: Handler): () => void {
    handlers.add(handler);
    this.report();
    return () => {
      handlers.delete(handler);
      this.report();
    };
  }

  private report(): void {
    const turns = this.turnHandlers.size > 0;
    const updates = this.updateHandlers.size > 0 || (this.style === "turns" && turns);
    const before = this.heard;
    this.heard = { updates, turns };
    if (updates !== before.updates) this.listening.updates(updates);
    if (turns !== before.turns) this.listening.turns(turns);
    for (const resolve of this.whenHeard.splice(0)) resolve();
  }

  /** Nobody listens outside turns: then it is done with (its `ack` settles it), so that it does not stay in hand. */
  private async runAll<Given>(
    handlers: readonly ((given: Given) => unknown)[],
    given: Given,
    handed: Failable,
  ): Promise<void> {
    if (handlers.length === 0) {
      await this.settleUnheard(handed);
      return;
    }
    const runs = handlers.map((handler) => this.run(handler, given, handed));
    for (const run of runs) {
      this.running.add(run);
      void run.finally(() => this.running.delete(run));
    }
    await Promise.all(runs);
  }

  private async settleUnheard(handed: Failable): Promise<void> {
    this.log.event("info", "update-unheard", { id: handed.id });
    try {
      await handed.ack();
    } catch (error) {
      this.trouble({ kind: "store", message: `the end of update ${handed.id} was not recorded: ${String(error)}` });
      await this.recordFailure(handed, String(error));
    }
  }

  private async callSafely(event: string, listener: Listener, values: readonly unknown[]): Promise<void> {
    try {
      await listener(...values);
    } catch (error) {
      this.log.event("error", "handler-threw", { event, reason: String(error) });
    }
  }

  private async run<Given>(handler: (given: Given) => unknown, given: Given, handed: Failable): Promise<void> {
    try {
      await handler(given);
    } catch (error) {
      await this.recordFailure(handed, String(error));
      this.trouble({ kind: "handler", message: `a handler of update ${handed.id} failed: ${String(error)}` });
    }
  }

  private async recordFailure(handed: Failable, reason: string): Promise<void> {
    try {
      await handed.fail(reason);
    } catch (error) {
      const message = `the failure of update ${handed.id} was not recorded: ${String(error)}`;
      this.trouble({ kind: "store", message });
    }
  }
}

type Failable = Pick<HandedUpdate, "id" | "ack" | "fail">;
