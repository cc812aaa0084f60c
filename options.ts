/**
 * What an instance can be told: its options, their checks, and the settings that come of them.
 *
 * Owns: the defaults and the words for options that cannot work. Does not own: the ports (`index.ts`), what the settings do.
 */
import { isAbsolute } from "node:path";
import type { InspectionEvent } from "xstate";
import type { InspectSettings } from "./inspector/instance.ts";
import { chatId } from "./machines/ids.ts";
import { defaultLeaseTimings, faultOfTimings } from "./machines/lease.rules.ts";
import type { LeaseTimings } from "./machines/lease.rules.ts";
import { defaultMembershipTimings } from "./machines/membership.machine.ts";
import { defaultThreadGraceMs } from "./machines/reconciliation.types.ts";
import { defaultSeatTimings } from "./machines/registration.machine.ts";
import { faultOfName } from "./machines/seat.rules.ts";
import { capability, protocolVersion } from "./machines/wire/constants.ts";
import { StartError } from "./services/errors.ts";
import type { Clock, Ids, Log, Processes } from "./services/ports.ts";
import type { Settings } from "./services/runtime.ts";
import { defaultSeatsMax } from "./services/seats.ts";
import { version } from "./version.ts";

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
/** What an instance has of its own beside its options. */
export interface Self {
  readonly ids: Ids;
  readonly processes: Processes;
  readonly clock: Clock;
  readonly secret: string;
}
/** Throws a `StartError` that says which option cannot work, and what would. */
export function checkOptions(options: InstanceOptions): void {
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
export function settingsFrom(options: InstanceOptions, { ids, processes, clock, secret }: Self): Settings {
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
