/**
 * An instance as its host holds it: the public face of a composed instance.
 *
 * Owns: what a host may ask of it, what it is told. Does not own: how the ports are put together (`index.ts`), anything
 * that decides (`machines/`).
 */
import type { Update } from "@grammyjs/types";
import { toPromise } from "xstate";
import type { Actor } from "xstate";
import type { Methods, PayloadOf, ResultOf } from "./adapters/telegram/client/methods.ts";
import { asBody } from "./machines/calls.rules.ts";
import type { BoundThread, Epoch } from "./machines/ids.ts";
import type { instanceMachine } from "./machines/instance.machine.ts";
import { roleOf } from "./machines/role.rules.ts";
import type { Role } from "./machines/role.rules.ts";
import { agentsOf } from "./services/agents-api.ts";
import type { Agents } from "./services/agents-api.ts";
import { CallError, StartError } from "./services/errors.ts";
import type { GivenTurn, GivenUpdate, Handlers, Trouble } from "./services/handlers.ts";
import type { ComposedInstance } from "./services/instance.ts";
import { queueOf } from "./services/queue-face.ts";
import type { InstanceQueue, TurnOf } from "./services/queue-face.ts";
import type { CommandDone } from "./services/queue.ts";

/** An update of this instance's thread. */
export interface InstanceUpdate {
  /** The same for every delivery of this update, for ever. */
  readonly id: string;
  readonly update: Update;
  /** Another process of this seat took it and died before it was done with it. Only with `ack: "explicit"`. */
  readonly redelivered: boolean;
  /**
   * Settles it; resolves when that is on disk. `false` = it was not this instance's to settle any more: another process of
   * the seat has it. Always `true` with `ack: "auto"`. Repeating is harmless. Rejects when the store did not answer.
   */
  readonly ack: () => Promise<boolean>;
}

/** One prompt, or one command between prompts, of a host that works in turns. */
export type InstanceTurn = TurnOf<Update>;

export interface InstanceEvents {
  /**
   * An update. Handlers are called in the order of the thread and are not waited for. One that throws or rejects has
   * failed: with `ack: "explicit"` the update comes again, at most twelve times, then it is set aside.
   * Updates that arrive before the first handler is attached wait for it.
   */
  update: (update: InstanceUpdate) => void | Promise<void>;
  /**
   * A turn, with `host: "turns"`. The next one begins when its handlers have ended. One that throws or rejects has failed, as
   * a handler of `update` has. Turns wait for the first handler.
   */
  turn: (turn: InstanceTurn) => void | Promise<void>;
  /** A command has acted on the queue, with `host: "turns"`: the host may want to answer. */
  command: (done: CommandDone) => void;
  role: (role: Role, epoch: Epoch) => void;
  /** Something went wrong and is being dealt with; nothing is thrown when nobody listens. */
  error: (trouble: Trouble) => void;
}

export interface Instance {
  /** `<pid>:<createdAtMs>`. */
  readonly id: string;
  /**
   * Resolves when this instance can be written to: it has its thread, and leads or is registered. Rejects with a
   * `StartError` when it was refused its seat or stopped before.
   */
  readonly ready: Promise<{ readonly role: Role; readonly thread: BoundThread | null }>;
  readonly role: Role;
  /** Epoch of the lease it leads under or follows; 0 before any. */
  readonly epoch: Epoch;
  readonly queue: InstanceQueue;
  /** Its thread; null before it is ready, and while the bot has no topics. */
  readonly thread: BoundThread | null;
  /** Attaches a handler; returns what detaches it. */
  on<Name extends keyof InstanceEvents>(event: Name, handler: InstanceEvents[Name]): () => void;
  /**
   * Makes a Bot API call in this instance's thread: `chat_id` and `message_thread_id` are filled in, other chats,
   * threads and messages are refused. Waits up to 30 s for a leader. Calls of one instance are not kept in order.
   * Rejects with a `CallError`. A call whose outcome is unknown is never repeated, unless repeating is harmless.
   */
  call<Method extends keyof Methods>(method: Method, payload: PayloadOf<Method>): Promise<ResultOf<Method>>;
  /**
   * Leaves the line and closes everything, within 2 s. The thread stays for whoever comes back under this seat;
   * `leave: true` deletes it. Repeating waits for the first.
   */
  stop(options?: { readonly leave?: boolean }): Promise<void>;
  /**
   * Reads the token again from `tokenFile`, for one that Telegram does not reject (any more). `"same"` = it has not changed, or the
   * file cannot be used, which is logged. Never rejects.
   */
  renewToken(): Promise<"changed" | "same">;
  /** Resolves when the instance has stopped, on request or because it was refused. */
  readonly stopped: Promise<void>;
  /** The inspector's page, token included; null when this instance serves none. */
  readonly inspectorUrl: string | null;
  /** Other agents of the line. */
  readonly agents: Agents;
  /** The instance chart's actor: subscribe to it, never send to it. */
  readonly actor: Actor<typeof instanceMachine>;
}
export class LineInstance implements Instance {
  readonly id: string;
  readonly inspectorUrl: string | null;
  readonly ready: Instance["ready"];
  readonly stopped: Promise<void>;
  readonly actor: Instance["actor"];
  readonly queue: InstanceQueue;
  /** @internal */
  readonly composed: ComposedInstance;
  /** @internal */
  readonly handlers: Handlers;
  readonly agents: Agents;
  private readonly close: () => Promise<void>;
  private lastThread: BoundThread | null = null;
  private lastRole: Role = "starting";
  private isStopping = false;

  constructor(
    { composed, handlers, inspectorUrl }: Pick<LineInstance, "inspectorUrl" | "composed" | "handlers">,
    close: () => Promise<void>,
  ) {
    this.inspectorUrl = inspectorUrl;
    this.composed = composed;
    this.handlers = handlers;
    this.close = close;
    this.id = composed.runtime.settings.me;
    this.actor = composed.actor;
    this.queue = queueOf(composed);
    this.agents = agentsOf(composed, (outcome) => new CallError("sendMessage", outcome));
    this.ready = this.whenReady();
    // Whoever does not wait for it learns of a refusal through `error` and `stopped`.
    this.ready.catch((error: unknown) => {
      if (!this.isStopping)
        handlers.trouble({ kind: "refused", message: error instanceof Error ? error.message : String(error) });
    });
    this.actor.on("instance.troubled", (fact) => {
      handlers.trouble({ kind: fact.trouble, message: fact.reason });
    });
    this.actor.subscribe((snapshot) => {
      this.tellRole(roleOf(snapshot), snapshot.context.epoch);
    });
    this.actor.start();
    this.stopped = this.whenStopped();
  }

  get role(): Role {
    return roleOf(this.actor.getSnapshot());
  }

  get epoch(): Epoch {
    return this.actor.getSnapshot().context.epoch;
  }

  get thread(): BoundThread | null {
    return structuredClone(this.lastThread);
  }

  on<Name extends keyof InstanceEvents>(event: Name, handler: InstanceEvents[Name]): () => void {
    // What is told is exactly what this event's handlers take; an update's shape is Telegram's promise.
    if (event === "turn") return this.handlers.onTurn(handler as (turn: GivenTurn) => unknown);
    return event === "update"
      ? this.handlers.onUpdate(handler as (update: GivenUpdate) => unknown)
      : this.handlers.on(event, handler as (...values: readonly unknown[]) => unknown);
  }

  async call<Method extends keyof Methods>(method: Method, payload: PayloadOf<Method>): Promise<ResultOf<Method>> {
    const outcome = await this.composed.call({ method, body: asBody(payload) ?? {} });
    if (outcome.kind !== "ok") throw new CallError(method, outcome);
    // Telegram's word for it: this is the method's result.
    return outcome.result as ResultOf<Method>;
  }

  async stop(options?: { readonly leave?: boolean }): Promise<void> {
    if (!this.isStopping) {
      this.isStopping = true;
      this.actor.send({ type: "instance.stop", leave: options?.leave ?? false });
    }
    await this.stopped;
  }

  renewToken(): Promise<"changed" | "same"> {
    return this.composed.renewToken();
  }

  private tellRole(role: Role, epoch: Epoch): void {
    if (role === this.lastRole) return;
    this.lastRole = role;
    this.handlers.tell("role", role, epoch);
  }

  private whenReady(): Instance["ready"] {
    return new Promise((resolve, reject) => {
      this.actor.on("instance.ready", ({ thread }) => {
        this.lastThread = thread;
        resolve({ role: this.role, thread: structuredClone(thread) });
      });
      this.actor.subscribe({
        complete: () => {
          const { output } = this.actor.getSnapshot();
          reject(
            new StartError(
              output === undefined || output.kind === "stopped"
                ? "The instance was stopped before it was ready."
                : `${output.reason}.`,
            ),
          );
        },
        error: (error: unknown) => {
          reject(new StartError(`The instance broke: ${String(error)}`));
        },
      });
    });
  }

  private async whenStopped(): Promise<void> {
    try {
      await toPromise(this.actor);
    } catch (error) {
      this.handlers.trouble({ kind: "defect", message: String(error) });
    }
    await this.close();
  }
}
