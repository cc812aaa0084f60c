/**
 * What the services of one instance share.
 *
 * Owns: the ports, the settings, and the few facts that more than one service needs at the moment they act: the lease
 * gate, our own seat, who is reachable at which connection.
 * Does not own: decisions; every fact here is put down by a chart's effect and is true as of that effect.
 */
import type { ChatMove } from "../machines/chats.rules.ts";
import type { Audience } from "../machines/updates.rules.ts";
import type { BoundThread, ChatId, Generation, Incarnation, InstanceId, SeatKey } from "../machines/ids.ts";
import type { Dialect, LeaseTimings } from "../machines/lease.rules.ts";
import type { MembershipTimings } from "../machines/membership.machine.ts";
import type { SeatTimings } from "../machines/registration.machine.ts";
import type { ProtocolIdentity } from "../machines/wire/constants.ts";
import type { Desk } from "./desk.ts";
import type { LeaseGate } from "./lease.ts";
import type { Counters, Ids, Link, Processes, Store, TelegramApi, Transport } from "./ports.ts";
import type { V1Fleet } from "./ports/owner.ts";
import type { Probes } from "./probes.ts";
import type { Stage } from "./stage.ts";
import type { ThreadKeeper, ThreadSends } from "./thread-sends.ts";

export interface Ports {
  readonly stage: Stage;
  readonly counters: Counters;
  readonly ids: Ids;
  readonly processes: Processes;
  readonly store: Store;
  readonly transport: Transport;
  readonly telegram: TelegramApi;
  /** Null = no v1 peers: the store's lease alone decides who leads. */
  readonly v1: V1Fleet | null;
}

export interface Settings {
  readonly me: InstanceId;
  readonly incarnation: Incarnation;
  /** Secret that this instance publishes when it leads. */
  readonly secret: string;
  readonly name: string | null;
  /** The only person whose updates have effects; null = whoever is paired. */
  readonly user: Audience["user"] | null;
  /** The configured chat; it may have become another (`Runtime.chats`). Null = the private chat with whoever is paired. */
  readonly chat: ChatId | null;
  readonly identity: ProtocolIdentity;
  readonly ack: "auto" | "explicit";
  /** How the host takes updates: as they come, or prompts one at a time as turns. */
  readonly host: "updates" | "turns";
  readonly lease: LeaseTimings;
  readonly seats: SeatTimings;
  /** Seats of one leadership at once, besides the leader's own; whoever comes beyond is refused. */
  readonly seatsMax: number;
  readonly membership: MembershipTimings;
  readonly pollSeconds: number;
  readonly capabilityMs: number;
  /** How long this instance's thread, and that of a v1 peer we lead, outlives its process; null = for ever. */
  readonly threadGraceMs: number | null;
  /** What becomes of a thread that is gone while its agent works, as long as we lead. */
  readonly lostThreads: "replace" | "notify";
  /** What becomes of what is to go into a thread that the user has closed, as long as we lead. */
  readonly closedThreads: "wait" | "reopen";
  /** After so long a holder that can be proven neither alive nor dead counts as gone; null = never. */
  readonly unprovableAfterMs: number | null;
}

/** Our own place: written when a registration was committed by us (leading) or acknowledged to us (following). */
export interface OwnPlace {
  readonly seat: SeatKey;
  readonly generation: Generation;
  /** Null in classic, and while our own thread could not be had. */
  readonly thread: BoundThread | null;
  /** The bot has no topics: the whole chat is ours. */
  readonly isClassic: boolean;
}

/** The connection to the leader that acknowledged us, and the secret that opens it. */
export interface LeaderLink {
  readonly generation: Generation;
  readonly link: Link;
  readonly secret: string;
  readonly dialect: Dialect;
}

/** The chat of one instance, as last learned. */
export interface ChatSight {
  /** Null = nobody is paired, as far as we know. */
  readonly now: ChatId | null;
  /** The ids that it had before; what comes from them is ours. */
  readonly former: readonly ChatId[];
  /** Fires when our chat has become another. */
  readonly moved: Signal;
  isOurs(chat: ChatId): boolean;
  learn(moves: readonly ChatMove[]): void;
  /** Where none is configured: the private chat with whoever is paired now, null = with nobody. */
  pair(chat: ChatId | null): void;
}

/** Whether the chat has threads at present. */
export interface TopicsJudge {
  readonly areOff: boolean;
  /** Has somebody look, and resolves with what comes of it; `on` when nothing does in time. */
  judge(): Promise<"on" | "off">;
  /** A thread could not be made, in these words: has somebody look if they may mean that the chat has none. */
  hear(refusal: string): void;
}

/** Facts that change while the instance lives; who writes them is named with each. */
export interface Board {
  /** User id of the person who is paired, as last read from the store. Written by `pairing.ts`; null = nobody, or not read. */
  paired: number | null;
  /**
   * Written by `membership.ts` while following, by `activation.ts` while leading; null while neither, and, by `pairing.ts`,
   * when the person whose chat it is in is not paired any more.
   */
  place: OwnPlace | null;
  /** Written by `instance.ts` when the instance has ended. */
  isOver: boolean;
  /** Written by `membership.ts`. */
  leader: LeaderLink | null;
  /**
   * The secret of the leader that we register at, from the moment we ask, or follow: what our endpoint opens to. Null while
   * neither. Written by `membership.ts`.
   */
  leaderSecret: string | null;
  /** Our thread as last told, whatever became of the registration; carried when we register again. Written with `place`. */
  lastThread: BoundThread | null;
  /** Who can be written to, while we lead. Written by `activation.ts` with `place`. */
  agents: Desk | null;
  /** Whether the chat has threads at present, while we lead the bus. Written by `activation.ts`. */
  topics: TopicsJudge | null;
  /** Who decides about our own thread, while we lead. Written by `own-thread.ts`. */
  keeper: ThreadKeeper | null;
  /** Slots of the followers that our last leader told of (protocol §5.10). Written by `membership.ts`. */
  roster: readonly string[];
}

export const emptyBoard = (): Board => ({
  paired: null,
  place: null,
  leader: null,
  leaderSecret: null,
  isOver: false,
  lastThread: null,
  agents: null,
  topics: null,
  keeper: null,
  roster: [],
});

export interface Runtime {
  readonly ports: Ports;
  readonly settings: Settings;
  readonly gate: LeaseGate;
  readonly board: Board;
  /** Which chat is ours by now. */
  readonly chats: ChatSight;
  /** When threads may be looked at, and what goes before that. */
  readonly probes: Probes;
  /** Everything that instances send into their threads while we lead. */
  readonly sends: ThreadSends;
  /** Tells whoever waits for a way to the leader that there may be one. */
  readonly onWayChanged: Signal;
  /** Tells that calls are made with another token from here on. */
  readonly onTokenRenewed: Signal;
  /** Tells that the leader has moved our place to another thread. */
  readonly onPlaceMoved: Signal;
}

/** Who may cause effects at present; null = nobody is paired. */
export function audienceOf({ settings, chats, board }: Pick<Runtime, "settings" | "chats" | "board">): Audience | null {
  const user = settings.user ?? board.paired;
  return user === null || chats.now === null ? null : { user, chat: chats.now, former: chats.former };
}

/** The chat of now: the configured one, or what became of it; that of whoever is paired; of a follower, that of its thread. */
export function chatOf({ chats, board }: Pick<Runtime, "chats" | "board">): ChatId {
  const chat = chats.now ?? board.place?.thread?.target.chatId ?? null;
  if (chat === null) throw new Error("nobody is paired, so there is no chat yet");
  return chat;
}

/** A notification; of one without a subject listeners look for themselves what changed. */
export interface Signal<Subject = void> {
  fire(subject: Subject): void;
  listen(listener: (subject: Subject) => void): () => void;
}

export function createSignal<Subject = void>(): Signal<Subject> {
  const listeners = new Set<(subject: Subject) => void>();
  return {
    fire(subject) {
      for (const listener of [...listeners]) listener(subject);
    },
    listen(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}
