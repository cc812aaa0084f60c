/**
 * Every port: what the services ask of the outside, and what they may rely on.
 *
 * Owns: the contracts. Does not own: any implementation (`adapters/`), any decision (`machines/`).
 *
 * Rules that hold for all of them:
 * - Expected failures are data, tagged by `kind`. A rejected promise means that the operation was not observed: a busy
 *   store, a broken disk. It is never read as an answer.
 * - Everything that leads writes under its epoch, and the store compares that epoch *inside the same transaction*:
 *   `fenced` when it is not the current one, and then nothing was written.
 * - "Resolves" on a store write means: the change is on disk and survives power loss.
 */
import type {
  AcquisitionId,
  BoundThread,
  ChatId,
  Epoch,
  Generation,
  Incarnation,
  InstanceId,
  JournalSeq,
  Lane,
  Liveness,
  MessageId,
  SeatKey,
  ThreadId,
  ThreadTarget,
  UpdateId,
} from "../machines/ids.ts";
import type { KeptMove } from "../machines/chats.rules.ts";
import type { LeaseHolder, LeaseRecord, TakeoverEvidence } from "../machines/lease.rules.ts";
import type {
  Cleanup,
  CleanupReason,
  OperatorAnswer,
  OperatorRequest,
  ReconciliationView,
  ThreadEvidence,
} from "../machines/reconciliation.types.ts";
import type {
  BegunProvision,
  Binding,
  HeldBinding,
  LeftoverThread,
  PendingProvision,
  ThreadStanding,
  ThreadView,
} from "../machines/threads.rules.ts";
import type { Ack, Envelope, RequestEnvelope } from "../machines/wire/envelopes.ts";

import type { DeadLetterStore } from "./ports/dead-letters.ts";
import type { PairingStore } from "./ports/pairing.ts";
import type { AdoptOutcome, Claimant, ClaimOutcome, ClaimRequest, MessageOwner } from "./ports/work.ts";
import type {
  AdmittedUpdate,
  JournalEntry,
  OfferStore,
  QueueStore,
  RedirectOutcome,
  RedirectRequest,
} from "./ports/queue.ts";

// ---------------------------------------------------------------------------------------------------------- host

/** Time. The only source of it: charts get it through `after` delays, rules as `nowMs`. */
export interface Clock {
  /** Wall clock, milliseconds since the Unix epoch. May jump. */
  nowMs(): number;
  /** Time that has passed on this host, in milliseconds from an arbitrary start. Never jumps back; counts suspension. */
  elapsedMs(): number;
  setTimeout(fn: () => void, delayMs: number): unknown;
  clearTimeout(handle: unknown): void;
}

/** Chance and digests. Every minted value is unique across processes and time. */
export interface Ids {
  instanceId(pid: number, nowMs: number): InstanceId;
  generation(instance: InstanceId): Generation;
  acquisition(): AcquisitionId;
  /** 32 random bytes, base64url: the secret that a leader publishes in its lease row. Never logged. */
  secret(): string;
  /** Fresh for each request of this process. */
  requestId(instance: InstanceId): string;
  /** Chance, from 0 to below 1. */
  chance(): number;
  /** Lowercase hex SHA-256 of the UTF-8 bytes. */
  sha256Hex(text: string): string;
}

/** The process table of this host. Synchronous: a look is one read of a small file. */
export interface Processes {
  /** This process; each call counts one instance further. */
  own(): Incarnation;
  /** The process that started this one. */
  parent(): Incarnation;
  /**
   * Whether an incarnation still runs. `dead` only on proof (no such pid, another start time, a zombie, another boot);
   * `unverifiable` when this host cannot tell (another pid namespace, no start time). Throws when the look itself
   * failed: that is no observation.
   */
  liveness(who: Incarnation): Liveness;
}

/** Where diagnostics go. Implementations redact tokens and secrets; nothing they do reaches the caller. */
export interface Log {
  event(level: "debug" | "info" | "warn" | "error", phase: string, fields: Readonly<Record<string, unknown>>): void;
}

/** Counts what went wrong and was dealt with; `status` shows it. Never throws. Reasons are few and fixed. */
export interface Counters {
  count(reason: string): void;
}

// --------------------------------------------------------------------------------------------------------- store

export type { BegunProvision, Binding, PendingProvision } from "../machines/threads.rules.ts";

/** A write under an old epoch: nothing happened. */
export interface Fenced {
  readonly kind: "fenced";
  readonly current: Epoch;
}

export interface LeaseStore {
  /** The lease as it stands now; `remainingMs` is by the store's clock. */
  read(): Promise<LeaseRecord>;
  /**
   * Compare-and-set: granted only if the row still has `expected`'s epoch and renewals, and, for evidence `expired` and
   * `vacant`, is that by the store's clock inside the transaction. A grant counts the epoch up by one.
   */
  acquire(request: {
    readonly me: LeaseHolder;
    readonly expected: { readonly epoch: Epoch; readonly renewals: number };
    readonly evidence: TakeoverEvidence;
    readonly durationMs: number;
  }): Promise<{ readonly kind: "granted" | "refused"; readonly record: LeaseRecord }>;
  /** Extends a lease that is still ours and not past its end; `lapsed` when ours but past it, `fenced` when not ours. */
  renew(request: { readonly epoch: Epoch; readonly durationMs: number }): Promise<{
    readonly kind: "renewed" | "lapsed" | "fenced";
    readonly record: LeaseRecord;
  }>;
  /** Empties the row if the epoch is ours; the epoch itself stays, so the next grant is higher. */
  release(request: { readonly epoch: Epoch }): Promise<{ readonly kind: "released" } | Fenced>;
  /** Runs `commit` synchronously inside a transaction in which the epoch is current; `fenced` = it did not run. */
  commitIfHeld(epoch: Epoch, commit: () => void): Promise<{ readonly kind: "committed" } | Fenced>;
}

export interface SeatClaim {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
  readonly incarnation: Incarnation;
}

/** Which live process holds which seat. Written by the processes themselves, not by the leader. */
export interface SeatStore {
  /** The profile's own stable id, made with the store. */
  profileId(): Promise<string>;
  /** Who holds this seat; null when nobody does. */
  holderOf(seat: SeatKey): Promise<SeatClaim | null>;
  /** Claims on seats `manual:<owner>:…`, in order of their key. */
  claimsOf(owner: string): Promise<readonly SeatClaim[]>;
  /** Compare-and-set on the present holder (`null` = nobody). `taken` names who holds it now. */
  claim(
    request: SeatClaim & {
      readonly expected: InstanceId | null;
      /** How long its thread outlives this holder, for whoever ends its registration; null = for ever. */
      readonly threadGraceMs: number | null;
    },
  ): Promise<{ readonly kind: "claimed" } | { readonly kind: "taken"; readonly by: SeatClaim }>;
  /**
   * Gives the seat up if `instanceId` holds it; otherwise does nothing. In the same transaction its registration ends
   * (`stopped`), what it had in hand goes back to pending, marked redelivered, and its thread's grace time begins.
   */
  release(request: { readonly seat: SeatKey; readonly instanceId: InstanceId }): Promise<void>;
  /**
   * The holder is about to leave for good: creations begun for the seat are unwanted from here on, by whichever leader
   * they end. Does nothing when `instanceId` does not hold the seat.
   */
  disown(request: { readonly seat: SeatKey; readonly instanceId: InstanceId }): Promise<void>;
}

/** The leader's durable record of who sits on a seat. */
export interface SeatRegistration {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
  readonly generation: Generation;
  /** What death is proven by; null when the peer sent nothing provable. */
  readonly incarnation: Incarnation | null;
  /** Null while the bot has no topics (classic): the seat then has the whole chat. */
  readonly thread: BoundThread | null;
  readonly atMs: number;
  /** How long its thread outlives it; null = for ever. The wish of the seat's holder (`SeatStore.claim`) goes before. */
  readonly threadGraceMs: number | null;
}

/** `forgotten`: the operator said so, or its deadline passed, though nothing was proven. */
export type SeatEnd = "died" | "left" | "stopped" | "forgotten";

export interface RegistrationStore {
  /**
   * Makes `registration` the seat's current one. In the same transaction: any clean-up of the seat's thread is
   * cancelled, and entries claimed by earlier instances of this seat go back to pending, marked redelivered.
   * `superseded` when another instance holds the seat (`SeatStore.claim`): a late word of one that is gone.
   * `threadGone` when its thread is being deleted or has been: another one must be found.
   */
  commit(request: {
    readonly epoch: Epoch;
    readonly registration: SeatRegistration;
  }): Promise<{ readonly kind: "committed" | "superseded" | "threadGone" } | Fenced>;
  /**
   * Ends a registration if its generation is still current; what its holder had in hand goes back to pending, marked
   * redelivered. The thread stays bound, and its grace time begins at `atMs`; `forgotten` also ends the holder's claim.
   */
  end(request: {
    readonly epoch: Epoch;
    readonly seat: SeatKey;
    readonly generation: Generation;
    readonly reason: SeatEnd;
    readonly atMs: number;
  }): Promise<{ readonly kind: "ended" | "superseded" } | Fenced>;
}

/** Chats that have become others: a group that was upgraded to a supergroup. */
export interface ChatStore {
  /** In the order in which they were told. */
  moves(): Promise<readonly KeptMove[]>;
  /** Resolves after the move is on disk. `known`: something was kept of `from` before, which stands, or the move leads back to it. */
  move(request: KeptMove & { readonly epoch: Epoch }): Promise<{ readonly kind: "moved" | "known" } | Fenced>;
}

export interface ThreadStore {
  /** Everything that is known of threads, as one consistent view. */
  view(): Promise<ThreadView>;
  /** The seat's binding in this chat; null when it has none. Cheap at any number of seats. */
  bindingOf(request: { readonly seat: SeatKey; readonly chatId: ChatId }): Promise<HeldBinding | null>;
  /** Which seat the thread belongs to: by its binding, else by the newest loss of it. Null when nobody ever had it. */
  seatOf(target: ThreadTarget): Promise<SeatKey | null>;
  /**
   * Writes the intent to create, removing the expired one it replaces (`abandons`). `conflict` when the seat has another
   * begun creation that is wanted, or a binding in that chat, or the slot is taken: look again.
   */
  intend(request: {
    readonly epoch: Epoch;
    readonly provision: BegunProvision;
    readonly abandons: string | null;
  }): Promise<{ readonly kind: "intended" | "conflict" } | Fenced>;
  /**
   * Writes down which thread a creation made: evidence, not authority, so anybody may, under no epoch. The first word
   * stands. What comes after the creation was given up becomes a leftover, unless the thread is bound.
   */
  noteCreated(request: {
    readonly provisionId: string;
    readonly target: ThreadTarget;
    readonly threadName: string;
    readonly atMs: number;
  }): Promise<void>;
  /**
   * Binds the created thread and removes its intent, or rebinds a known one (`provisionId` null). In the same transaction:
   * another seat that had the thread loses it, what this seat had before in that chat becomes a leftover. `unwanted` when
   * the instance has left for good meanwhile: then nothing is bound and the thread's deletion is instructed instead.
   */
  bind(request: {
    readonly epoch: Epoch;
    readonly provisionId: string | null;
    readonly binding: Binding;
  }): Promise<{ readonly kind: "bound" | "unwanted" } | Fenced>;
  /**
   * Ends a begun creation without a thread: `abandoned` removes it, `ambiguous` keeps it for evidence and the operator.
   * `threadId` = the thread it made after all, known by now: then it stays whatever was asked.
   */
  giveUp(request: {
    readonly epoch: Epoch;
    readonly provisionId: string;
    readonly as: "abandoned" | "ambiguous";
  }): Promise<{ readonly kind: "noted"; readonly threadId: ThreadId | null } | Fenced>;
  /** Writes down how a bound thread stands; `open` is proof of it at `atMs`. `missing` when it is not bound. */
  mark(request: {
    readonly epoch: Epoch;
    readonly target: ThreadTarget;
    readonly standing: ThreadStanding;
    readonly reason: string;
    readonly atMs: number;
  }): Promise<{ readonly kind: "marked" | "missing" } | Fenced>;
  /** The thread is proven gone: its binding ends and is remembered as lost. `missing` when it is not bound. */
  lose(request: {
    readonly epoch: Epoch;
    readonly target: ThreadTarget;
    readonly reason: string;
    readonly atMs: number;
  }): Promise<{ readonly kind: "lost" | "missing" } | Fenced>;
  /** Adds to the threads that are the operator's to delete, unless it is bound; replaces what was said of it. */
  addLeftover(request: {
    readonly epoch: Epoch;
    readonly leftover: LeftoverThread;
  }): Promise<{ readonly kind: "added" | "bound" } | Fenced>;
}

/** The words of a clean-up's attempt that did not delete the thread. */
export interface CleanupPostponement {
  readonly epoch: Epoch;
  readonly target: ThreadTarget;
  readonly reason: string;
  readonly dueAtMs: number;
  /** It is certain that the thread still exists: a registration may have it. Otherwise it stays held. */
  readonly isCertain: boolean;
}

/** Threads that are to be deleted, from the first reason to the confirmation, and what else reconciliation lives on. */
export interface CleanupStore {
  /** Everything that reconciliation judges, as one consistent view. */
  view(): Promise<ReconciliationView>;
  /**
   * Writes the instruction to delete exactly this thread; it survives everything but its confirmation or a newer
   * registration. An instruction that exists keeps its phase, and becomes due when either is. Nothing for a thread that
   * is gone already.
   */
  intend(request: {
    readonly epoch: Epoch;
    readonly seat: SeatKey;
    readonly target: ThreadTarget;
    readonly reason: CleanupReason;
    readonly atMs: number;
    readonly dueAtMs: number;
  }): Promise<{ readonly kind: "intended" } | Fenced>;
  /**
   * The last proof, just before the call, in one transaction: from `begun` on no registration gets this thread.
   * `superseded`: the instruction was cancelled, another seat is bound to the thread, or (`rerouted`) something was written
   * there since that waits for an owner. `held`: its seat has a current
   * registration, or a holder other than `seenDead` (null = nobody); only asked where the reason needs proof (`ended`), and
   * not of one that was begun before: since then nobody has had the thread.
   */
  begin(request: {
    readonly epoch: Epoch;
    readonly target: ThreadTarget;
    readonly seenDead: InstanceId | null;
  }): Promise<
    { readonly kind: "begun"; readonly attempts: number } | { readonly kind: "superseded" | "held" } | Fenced
  >;
  /** The attempt did not delete it, or not certainly: the instruction stays, due again at `dueAtMs`. */
  postpone(request: CleanupPostponement): Promise<{ readonly kind: "noted" } | Fenced>;
  /**
   * The thread is gone: removes instruction, binding and leftover, ends the registration that has it (`left`), and
   * remembers the thread as deleted. `superseded` when the instruction was cancelled meanwhile.
   */
  confirm(request: {
    readonly epoch: Epoch;
    readonly target: ThreadTarget;
    readonly atMs: number;
  }): Promise<{ readonly kind: "removed" | "superseded" } | Fenced>;
  /** Takes the instruction back, unless a call may be under way. */
  cancel(request: {
    readonly epoch: Epoch;
    readonly target: ThreadTarget;
  }): Promise<{ readonly kind: "noted" } | Fenced>;
  /** Takes a thread off the books, binding, leftover and instruction; Telegram keeps it as it is. */
  unbind(request: {
    readonly epoch: Epoch;
    readonly target: ThreadTarget;
  }): Promise<{ readonly kind: "noted" } | Fenced>;
  /**
   * Writes down what a service message says of a thread. A person's name for it is kept for good; any name becomes the
   * bound thread's.
   */
  observe(request: {
    readonly epoch: Epoch;
    readonly evidence: ThreadEvidence;
  }): Promise<{ readonly kind: "noted" } | Fenced>;
  /** A seat whose holder can be proven neither alive nor dead, since when and why; null = that is over. */
  doubt(request: {
    readonly epoch: Epoch;
    readonly seat: SeatKey;
    readonly generation: Generation;
    readonly doubt: { readonly sinceMs: number; readonly reason: string } | null;
  }): Promise<{ readonly kind: "noted" } | Fenced>;
  /** The operator asks; any process may write it. The leader carries it out. */
  ask(request: OperatorRequest): Promise<void>;
  answer(request: {
    readonly epoch: Epoch;
    readonly answer: OperatorAnswer;
  }): Promise<{ readonly kind: "noted" } | Fenced>;
  /** What became of a request; null while nothing has. */
  answerTo(id: string): Promise<OperatorAnswer | null>;
}

export interface JournalStore {
  /** The next `update_id` to ask for, null before the first admission. */
  cursor(): Promise<UpdateId | null>;
  /**
   * One transaction: rows for the updates not yet known (by id and content, tombstones included), then the cursor; null =
   * it stays, for the updates are not Telegram's.
   * `full` when the journal holds its maximum: nothing was written.
   */
  admit(request: {
    readonly epoch: Epoch;
    readonly updates: readonly AdmittedUpdate[];
    readonly cursor: UpdateId | null;
    readonly nowMs: number;
  }): Promise<
    | { readonly kind: "admitted"; readonly added: number; readonly duplicates: number }
    | { readonly kind: "full" }
    | Fenced
  >;
  /**
   * The earliest unclaimed entries of each lane, at most `perLane` of it, oldest first, at most `limit` in all, without
   * `except` and, unless it is null, of no other lanes than `only`. An entry whose next attempt lies ahead is returned
   * too: it holds its lane, and the caller waits. Nothing is returned that lies behind an entry which is tried again:
   * its lane has no head, or no further one, until that is settled or has failed.
   */
  heads(request: {
    readonly except: readonly Lane[];
    readonly only: readonly Lane[] | null;
    readonly perLane: number;
    readonly limit: number;
  }): Promise<readonly JournalEntry[]>;
  /** Ends an entry without running it, counting `reason` (a drop by rule). */
  drop(request: {
    readonly epoch: Epoch;
    readonly seq: JournalSeq;
    readonly reason: string;
    readonly nowMs: number;
  }): Promise<{ readonly kind: "dropped" | "missing" } | Fenced>;
  /** Gives everything that waits in one thread to another one. */
  redirect(request: RedirectRequest): Promise<RedirectOutcome | Fenced>;
  /** Sets an entry aside for the operator. */
  deadLetter(request: {
    readonly epoch: Epoch;
    readonly seq: JournalSeq;
    readonly reason: string;
    readonly nowMs: number;
  }): Promise<{ readonly kind: "deadLettered" | "missing" } | Fenced>;
}

/** Authority over entries in hand: taken by the seat that runs them. */
export interface WorkStore {
  claim(request: ClaimRequest): Promise<ClaimOutcome>;
  /**
   * For a seat whose leader keeps a journal of its own (a v1 peer), so that nobody dispatches ours. One transaction: writes
   * `update` (null = none) unless it is known by id and content; puts back, marked redelivered, what earlier instances of
   * the seat had in hand; claims the head of `lane` for the claimant if its time has come. The same acquisition again is
   * told the same entry. `stale` = the claimant does not hold the seat (`SeatStore.claim`): nothing was written.
   */
  adopt(request: {
    readonly update: AdmittedUpdate | null;
    readonly lane: Lane;
    readonly claimant: Claimant;
    readonly nowMs: number;
  }): Promise<AdoptOutcome>;
  /**
   * The entry is done: it leaves the journal and a tombstone stays. Only the exact acquisition settles; repeating it, after
   * an answer was lost, is `settled` again.
   */
  settle(request: {
    readonly seq: JournalSeq;
    readonly acquisition: AcquisitionId;
    readonly nowMs: number;
  }): Promise<{ readonly kind: "settled" | "notYours" }>;
  /** The handler failed: the entry goes back, one attempt older, not before `nextAttemptAtMs`. */
  fail(request: {
    readonly seq: JournalSeq;
    readonly acquisition: AcquisitionId;
    readonly reason: string;
    readonly nextAttemptAtMs: number;
  }): Promise<{ readonly kind: "returned" | "notYours" }>;
}

export type { AdoptOutcome, Claimant, ClaimOutcome, ClaimRequest, MessageOwner } from "./ports/work.ts";
export type { DeadLetter, DeadLetterStore } from "./ports/dead-letters.ts";
export type { PairingStore } from "./ports/pairing.ts";
export type {
  AdmittedUpdate,
  HeldEntry,
  Holder,
  JournalEntry,
  ListedEntry,
  Offer,
  OfferRefusal,
  OfferStore,
  QueueStore,
  RedirectOutcome,
} from "./ports/queue.ts";

/** Which seat a message belongs to: written for what was sent and what was delivered, read for callbacks and reactions. */
export interface OwnershipStore {
  record(entries: readonly MessageOwner[]): Promise<void>;
  ownerOf(chatId: ChatId, messageId: MessageId): Promise<SeatKey | null>;
}

/** What `status` shows and any process may write: counters and facts that are not authority over anything. */
export interface StatusStore {
  count(reason: string, by: number, nowMs: number): Promise<void>;
  /** The leader's last successful poll, and what it met since (`conflict: another poller`, `token rejected`, …). */
  notePolling(request: {
    readonly epoch: Epoch;
    readonly okAtMs: number | null;
    readonly health: string;
  }): Promise<void>;
  /** The health that the present leader has noted; null = nobody leads, or it has noted nothing yet. Cheap. */
  presentHealth(): Promise<string | null>;
  read(): Promise<StoreStatus>;
}

export interface StoreStatus {
  readonly lease: LeaseRecord;
  /** Wall clock of the present grant; null while nobody holds the lease. */
  readonly leaseGrantedAtMs: number | null;
  readonly cursor: UpdateId | null;
  readonly registrations: readonly (SeatRegistration & { readonly ended: SeatEnd | null })[];
  readonly bindings: readonly HeldBinding[];
  readonly provisions: readonly PendingProvision[];
  readonly lostThreads: ThreadView["lost"];
  readonly leftovers: ThreadView["leftovers"];
  readonly cleanups: readonly Cleanup[];
  /** In the order in which they were told. */
  readonly chatMoves: readonly KeptMove[];
  readonly journal: { readonly waiting: number; readonly claimed: number; readonly deadLetters: number };
  readonly drops: Readonly<Record<string, number>>;
  readonly polling: { readonly okAtMs: number | null; readonly health: string };
}

export interface Store {
  readonly lease: LeaseStore;
  readonly seats: SeatStore;
  readonly registrations: RegistrationStore;
  readonly threads: ThreadStore;
  readonly chats: ChatStore;
  readonly cleanups: CleanupStore;
  readonly journal: JournalStore;
  readonly work: WorkStore;
  readonly queue: QueueStore;
  readonly offers: OfferStore;
  readonly deadLetters: DeadLetterStore;
  readonly pairing: PairingStore;
  readonly ownership: OwnershipStore;
  readonly status: StatusStore;
  close(): Promise<void>;
}

// ----------------------------------------------------------------------------------------------------- transport

export type RequestOutcome =
  | { readonly kind: "answered"; readonly ack: Ack }
  /** No byte left: safe to repeat. */
  | { readonly kind: "notSent"; readonly reason: string }
  /**
   * Sent, and no answer came: the peer may have acted. `timedOut`: it did not answer in time; `closed`: it ended the
   * connection, or said something that is no answer; `broken`: the connection failed.
   */
  | { readonly kind: "lost"; readonly how: LossOfAnswer; readonly reason: string };

export type LossOfAnswer = "timedOut" | "closed" | "broken";

/** One pipelined connection to a peer. Answers arrive in completion order and are matched by `requestId`. */
export interface Link {
  request(envelope: RequestEnvelope, timeoutMs: number): Promise<RequestOutcome>;
  /** Resolves once, when the connection is gone for whatever reason. A hint to look at the peer, never a proof. */
  readonly closed: Promise<void>;
  close(): void;
}

/** Where a request came in: which connection, so that its end can be tied to the peer that spoke on it. */
export interface Inbound {
  readonly closed: Promise<void>;
}

export interface Endpoint {
  /** The address peers dial, unresolved. */
  readonly address: string;
  /** Binds again if the published address has vanished; true when it did. */
  ensure(): Promise<boolean>;
  /** Destroys all connections and stops listening. Never touches a successor's address. */
  close(): Promise<void>;
}

/** Answers whatever parses, an ack that somebody sent as a request included. Rejecting answers "handler failed". */
export type RequestHandler = (request: Envelope, from: Inbound) => Promise<Ack>;

export interface ListenRequest {
  readonly address: string;
  readonly handle: RequestHandler;
  /** Publishes the address by running `commit` where ownership is certain; resolves false = ownership was lost. */
  readonly publish: (commit: () => void) => Promise<boolean>;
}

export interface Transport {
  readonly leaderAddress: string;
  followerAddress(instance: InstanceId): string;
  /** Serves requests at an address. Rejects when the address cannot be bound or publication lost ownership. */
  listen(request: ListenRequest): Promise<Endpoint>;
  /** Connects; rejects when nobody serves there within `timeoutMs`. */
  dial(address: string, timeoutMs: number): Promise<Link>;
}

export * from "./ports/telegram.ts";
