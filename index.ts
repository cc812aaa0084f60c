/**
 * Partyline: many agent processes share one Telegram bot.
 *
 * `createInstance` puts this process on the line. It leads or follows as needed, emits the updates of its own thread,
 * and makes Bot API calls confined to that thread.
 *
 * Owns: the public API and the composition of the real ports. Does not own: anything that decides (`machines/`).
 */
import { randomUUID } from "node:crypto";
import { isAbsolute, join } from "node:path";
import type { Update } from "@grammyjs/types";
import { toPromise } from "xstate";
import type { Actor, InspectionEvent } from "xstate";
import { stopwatchMs, systemClock } from "./adapters/host/clock.ts";
import { systemIds } from "./adapters/host/ids.ts";
import { isolated } from "./adapters/host/isolated-log.ts";
import { systemProcesses } from "./adapters/host/processes.ts";
import { redactor } from "./adapters/host/redact.ts";
import { readTokenFile } from "./adapters/host/token-file.ts";
import { openOwnerStore, v1Folder } from "./adapters/store/v1-owner/index.ts";
import { ownerSelf } from "./adapters/store/v1-owner/self.ts";
import { createTelegramClient } from "./adapters/telegram/client/index.ts";
import type { Methods, PayloadOf, ResultOf } from "./adapters/telegram/client/methods.ts";
import { createUnixTransport } from "./adapters/transport/unix/transport.ts";
import { sameSecret } from "./adapters/transport/wire/secret.ts";
import { noInspection, openWatching, type InspectSettings } from "./inspector/instance.ts";
import { asBody } from "./machines/calls.rules.ts";
import { chatId } from "./machines/ids.ts";
import type { BoundThread, Epoch } from "./machines/ids.ts";
import type { instanceMachine } from "./machines/instance.machine.ts";
import { defaultLeaseTimings, faultOfTimings } from "./machines/lease.rules.ts";
import type { LeaseTimings } from "./machines/lease.rules.ts";
import { defaultOwnerTimings } from "./machines/owner.contract.ts";
import { defaultMembershipTimings } from "./machines/membership.machine.ts";
import { defaultSeatTimings } from "./machines/registration.machine.ts";
import { roleOf, type Role } from "./machines/role.rules.ts";
import { defaultThreadGraceMs } from "./machines/reconciliation.types.ts";
import { faultOfName } from "./machines/seat.rules.ts";
import { capability, protocolVersion } from "./machines/wire/constants.ts";
import { CallError, StartError } from "./services/errors.ts";
import { AgentError, agentsOf } from "./services/agents-api.ts";
import type { Agents, AgentSelector, AgentThread } from "./services/agents-api.ts";
import { Handlers } from "./services/handlers.ts";
import type { GivenTurn, GivenUpdate, Trouble } from "./services/handlers.ts";
import { Counts } from "./services/counts.ts";
import { composeInstance, type ComposedInstance } from "./services/instance.ts";
import { defaultSeatsMax } from "./services/seats.ts";
import type { Clock, Ids, Log, Processes, TelegramError } from "./services/ports.ts";
import type { V1Fleet } from "./services/ports/owner.ts";
import type { HandoffOutcome } from "./services/handoff.ts";
import { queueOf, type InstanceQueue, type TurnOf } from "./services/queue-face.ts";
import type { CommandDone, QueuedItem } from "./services/queue.ts";
import type { Settings } from "./services/runtime.ts";
import type { LineQueue, LineView, LineWork, MoveReply } from "./services/line-view.ts";
import type { OperatorReply, OperatorWish } from "./services/operator.ts";
import type { DeadLetter, DeadLetterOutcome, DeadLetters } from "./services/dead-letters.ts";
import type { Pairing, PairingAsker, PairingReply, PairingState } from "./services/pairing-desk.ts";
import { describeLine, type LineStatus } from "./services/status.ts";
import { updatesIn, watchPorts, type Crossing } from "./services/traffic.ts";
import { openStore, stateFolder } from "./line.ts";
import { version } from "./version.ts";

export type { Agents, AgentSelector, AgentThread, BoundThread, Epoch, InspectSettings, LineStatus, Log, Role };
export type { LineQueue, LineView, LineWork, MoveReply };
export type { CommandDone, HandoffOutcome, InstanceQueue, QueuedItem };
export type { OperatorReply, OperatorWish, TelegramError, Trouble };
export type { DeadLetter, DeadLetterOutcome, DeadLetters };
export type { Pairing, PairingAsker, PairingReply, PairingState };
export { askOperator, openDeadLetters, openLine, openPairing, readStatus, stateFolder } from "./line.ts";
export type { LineOptions } from "./line.ts";
export { AgentError, CallError, StartError, version };

export interface InstanceOptions {
  /** The bot's token, from @BotFather. Never logged. */
  readonly token: string;
  /**
   * File that `token` came from. It is read again after Telegram has rejected the token, with growing pauses up to a minute, and by
   * `renewToken()`. Default: none, and then only another instance helps.
   */
  readonly tokenFile?: string;
  /**
   * Telegram user id of the one person whose messages have effects. Everything from others is a counted drop. Default: whoever
   * is paired (`openPairing`, `partyline pair`); until somebody is, the instance waits and every update is a counted drop. All
   * instances of a line get the same, or none.
   */
  readonly user?: number;
  /** The chat whose threads are used. Default: the private chat with that person. */
  readonly chat?: number;
  /**
   * Keeps seat and thread across restarts, and titles a new thread. A second live instance of the same name is refused.
   * 1 to 64 letters, digits, `.`, `_`, `-`. Default: unnamed, the lowest free number under the parent process.
   */
  readonly name?: string;
  /** Separate line of the same bot: own state, own leader. 1 to 32 lowercase letters or digits. Default `"default"`. */
  readonly profile?: string;
  /** State folder. Default `$PARTYLINE_HOME`, else the platform's place for state. */
  readonly home?: string;
  /** Bot API server. Default `https://api.telegram.org`. */
  readonly apiRoot?: string;
  /**
   * `"auto"` (default): an update is settled just before its handlers are called, at most once. `"explicit"`: it is
   * settled by `update.ack()`, and comes again to the seat's next process if this one dies before (at least once).
   */
  readonly ack?: "auto" | "explicit";
  /**
   * `"updates"` (default): handlers of `update` get every update as it comes. `"turns"`: handlers of `turn` get one prompt
   * at a time, and the others wait in a queue that the user steers by reactions and commands; `update` gets the rest.
   */
  readonly host?: "updates" | "turns";
  /** How long an empty poll is held open, in seconds, 1 to 50. Default 30. */
  readonly pollSeconds?: number;
  /**
   * Joins a fleet of v1 processes, of which one leads at a time, v1 or ours: the owner store, endpoints and secrets under
   * `agentDir`, an absolute folder that all of them share. Default: no v1 peers.
   */
  readonly compat?: { readonly agentDir: string };
  /**
   * How long the thread outlives this process, in milliseconds, whether it stopped or was killed; it is deleted then, unless
   * the seat is taken again before. Its updates wait as long. Default 600000, 0 = deleted at once.
   */
  readonly threadGraceMs?: number;
  /** The thread is never deleted for the end of this process, only by `stop({ leave: true })` or the operator. Default false. */
  readonly keepThread?: boolean;
  /**
   * While this instance leads: a thread that is deleted while its agent works is replaced by another one (`"replace"`, the
   * default), or the user is told in the main chat, where the agent's words go until it is started again (`"notify"`).
   */
  readonly lostThreads?: "replace" | "notify";
  /**
   * While this instance leads: what an agent says into a thread that the user has closed waits until it is opened
   * (`"wait"`, the default), or the thread is opened for it, once (`"reopen"`). Only supergroups have closed threads.
   */
  readonly closedThreads?: "wait" | "reopen";
  /**
   * While this instance leads: after so many milliseconds without proof either way, a seat's holder counts as gone. Default:
   * never; it is shown in `status`, and the operator decides.
   */
  readonly unprovableAfterMs?: number;
  /** Changes to the lease's timings; all instances of a profile should use the same. */
  readonly lease?: Partial<LeaseTimings>;
  /** Where diagnostics go, already free of secrets. Default: nowhere. */
  readonly log?: Log;
  /**
   * Watching. Default: this instance can be watched by `partyline inspect` of the same user on this host, which costs
   * nothing while nobody does. `true` serves the inspector's page from this process (`inspectorUrl`), settings choose more;
   * `false` leaves it all out. A function sees everything that the charts do; what it throws is logged and has no effect.
   */
  readonly inspect?: boolean | InspectSettings | ((event: InspectionEvent) => void);
}

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

function openTelegram({ token, apiRoot, tokenFile }: InstanceOptions, folder: string, { log, tokens }: Renewing) {
  const filesFolder = join(folder, "files");
  const renew = async (): Promise<string | null> => {
    if (tokenFile === undefined) return null;
    const read = await readTokenFile(tokenFile, token);
    if (read.kind === "unfit") {
      log.event("warn", "token-not-read", { reason: read.reason });
      return null;
    }
    tokens.add(read.token);
    return read.token;
  };
  try {
    return createTelegramClient({ token, filesFolder, renew, ...(apiRoot === undefined ? {} : { apiRoot }) });
  } catch (error) {
    throw new StartError(error instanceof Error ? error.message : String(error));
  }
}

function checkOptions(options: InstanceOptions): void {
  if (options.user !== undefined && (!Number.isSafeInteger(options.user) || options.user <= 0))
    throw new StartError(
      "user must be the Telegram user id of the person who may write to the bot: a positive number.",
    );
  if (options.chat !== undefined && !Number.isSafeInteger(options.chat))
    throw new StartError("chat must be a Telegram chat id: a whole number.");
  const faults = [
    options.name === undefined ? null : faultOfName(options.name),
    options.compat === undefined || isAbsolute(options.compat.agentDir)
      ? null
      : "compat.agentDir must be an absolute path: the agent folder that the v1 processes share",
    faultOfTimings({ ...defaultLeaseTimings, ...options.lease }),
    options.threadGraceMs === undefined || options.threadGraceMs >= 0 ? null : "threadGraceMs must not be negative",
    options.pollSeconds === undefined || (options.pollSeconds >= 1 && options.pollSeconds <= 50)
      ? null
      : "pollSeconds must lie between 1 and 50",
  ];
  for (const fault of faults) if (fault !== null) throw new StartError(`${fault}.`);
}

/** Null = the private chat with whoever will be paired. */
function chatOfOptions({ chat, user }: InstanceOptions) {
  const configured = chat ?? user;
  return configured === undefined ? null : chatId(configured);
}

/** The settings of an instance, from its options and this process. */
function settingsFrom(options: InstanceOptions, { ids, processes, clock, secret }: Self): Settings {
  return {
    me: ids.instanceId(process.pid, clock.nowMs()),
    incarnation: processes.own(),
    secret,
    name: options.name ?? null,
    user: options.user ?? null,
    chat: chatOfOptions(options),
    identity: {
      protocolVersion,
      runtimeBuild: version,
      capabilities: [capability.durableAdmission, capability.sharedStore, capability.queueHandoff],
    },
    ack: options.ack ?? "auto",
    host: options.host ?? "updates",
    lease: { ...defaultLeaseTimings, ...options.lease },
    seats: defaultSeatTimings,
    seatsMax: defaultSeatsMax,
    membership: defaultMembershipTimings,
    pollSeconds: options.pollSeconds ?? 30,
    capabilityMs: 2_500,
    unprovableAfterMs: options.unprovableAfterMs ?? null,
    lostThreads: options.lostThreads ?? "replace",
    closedThreads: options.closedThreads ?? "wait",
    threadGraceMs: options.keepThread === true ? null : (options.threadGraceMs ?? defaultThreadGraceMs),
  };
}

/** Where this instance's endpoints go: beside its store, or where v1 peers look for them. */
const placeOfEndpoints = ({ compat, profile = "default" }: InstanceOptions, folder: string) =>
  compat === undefined
    ? { folder }
    : { folder: v1Folder(compat.agentDir), profile: profile === "default" ? null : profile, agentDir: compat.agentDir };

function v1Fleet({ compat, profile = "default" }: InstanceOptions, settings: Settings, clock: Clock): V1Fleet | null {
  if (compat === undefined) return null;
  const { me: instanceId, secret } = settings;
  return {
    store: openOwnerStore({ folder: v1Folder(compat.agentDir), slot: profile, clock }),
    self: ownerSelf({ instanceId, secret, nowMs: clock.nowMs() }),
    timings: defaultOwnerTimings,
    mintEpoch: () => randomUUID(),
  };
}

const silent: Log = { event: () => undefined };

interface Renewing {
  readonly log: Log;
  /** Every token that this instance has had: none of them is shown. */
  readonly tokens: Set<string>;
}

interface Self {
  readonly ids: Ids;
  readonly processes: Processes;
  readonly clock: Clock;
  readonly secret: string;
}

/**
 * Puts this process on the line and resolves as soon as its store is open; `ready` tells when it can be written to.
 *
 * Rejects with a `StartError` for options that cannot work: a token without the shape of one, a state folder that
 * cannot be written or used, a bad name. What can heal (no network, a rejected token, a busy store) does not reject;
 * it is told through `error` and tried again.
 */
export async function createInstance(options: InstanceOptions): Promise<Instance> {
  checkOptions(options);
  const folder = stateFolder(options);
  const clock = systemClock();
  const [ids, processes] = [systemIds(), systemProcesses()];
  const secret = ids.secret();
  const tokens = new Set([options.token]);
  const redact = redactor(() => [...tokens, secret]);
  const log = isolated(options.log ?? silent, redact);
  const telegram = openTelegram(options, folder, { log, tokens });
  const settings = settingsFrom(options, { ids, processes, clock, secret });
  const store = await openStore(folder);
  const counts = new Counts(store.status, clock, log);
  const counters = {
    count: (reason: string, cause?: unknown) => {
      log.event("debug", reason, cause === undefined ? {} : { cause });
      counts.add(reason);
    },
  };
  const transport = createUnixTransport({ ...placeOfEndpoints(options, folder), clock, counters });
  const handlers = new Handlers(log, settings.host);
  const inspection = await openWatching(options.inspect, {
    folder,
    instance: settings.me,
    name: settings.name,
    plain: (value) => redact.value(value),
    nowMs: () => clock.nowMs(),
    stopwatchMs,
    status: () => describeLine({ store, processes, clock }),
    onTrouble: (reason) => log.event("warn", "inspection", { reason }),
  });
  const ports = {
    stage: { clock, log, inspect: inspection.observe },
    counters,
    ids,
    processes,
    store,
    transport,
    telegram,
    v1: v1Fleet(options, settings, clock),
  };
  const see = (crossing: Crossing): void => inspection.message({ by: settings.me, ...crossing });
  const composed = composeInstance(
    inspection.message === noInspection.message ? ports : watchPorts(ports, { see }),
    settings,
    {
      handOut: (update) => {
        see({ way: "host", name: "handed to its handler", id: update.id, phase: "end", ...updatesIn(update.update) });
        return handlers.handOut(update);
      },
      runTurn: (turn) => handlers.runTurn(turn),
      commandDone: (done) => {
        handlers.commandDone(done);
      },
      drained: () => handlers.drained(),
      isSecret: sameSecret,
    },
  );
  handlers.reportTo(composed.queue.listening);
  return new LineInstance({ composed, handlers, inspectorUrl: inspection.pageUrl }, async () => {
    try {
      await composed.dispose();
      await counts.flush();
    } finally {
      await inspection.close();
      telegram.close();
      await store.close();
    }
  });
}

class LineInstance implements Instance {
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
