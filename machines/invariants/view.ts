/**
 * The one view of the world that every invariant is judged by.
 *
 * Owns: the shapes. Does not own: how a view comes about (explorer, simulator, property tests and the inspector each build
 * it from their own world), any judgement.
 *
 * The view comes in parts. A world says which of them it shows, and nothing stands in for the others: an invariant that
 * needs a part which is not shown is not judged there. Most parts are a moment. Those that say "since the last look" are
 * *ghost history*: facts that no process stores, kept by whoever watches, because a property speaks of them.
 */
import type { Epoch, Generation, InstanceId, SeatKey, ThreadId, UpdateId } from "../ids.ts";
import type { TakeoverEvidence } from "../lease.rules.ts";
import type { QueueEntryView, QueueView, StoreStepView, TablesView } from "./store-view.ts";
import type { ApiCallView, ThreadsView } from "./threads-view.ts";
import type {
  EndpointStepView,
  HeartbeatEndView,
  LedgerStepView,
  MessageChangeView,
  OfferEndedView,
  OfferRelayView,
  OwnerFileStepView,
} from "./wire-view.ts";

/** One grant of the lease, with what was true in the world, not in anybody's belief, when it was given. */
export interface GrantView {
  readonly epoch: Epoch;
  readonly to: InstanceId;
  readonly evidence: TakeoverEvidence;
  /** State of the lease row just before. */
  readonly over: "vacant" | "own" | "expired" | "deadHolder" | "liveHolder";
}

export interface LeaseRowView {
  readonly epoch: Epoch;
  readonly renewals: number;
  readonly holder: InstanceId | null;
}

/** One request to the lease row, carried out by the store. */
export interface LeaseStepView {
  readonly what: "acquire" | "renew" | "release" | "commit";
  /** Whom the presented epoch was granted to, or who asks for one; null when nobody ever held it. */
  readonly by: InstanceId | null;
  /** The epoch presented; what the row was seen to have, where one is asked for. */
  readonly presented: Epoch;
  /** Renewals that the asker saw, where a grant is asked for. */
  readonly seenRenewals: number | null;
  readonly isDone: boolean;
  readonly before: LeaseRowView;
  readonly after: LeaseRowView;
}

/** What became of the lease row since the last look. */
export interface LeaseHistoryView {
  readonly since: LeaseRowView;
  readonly steps: readonly LeaseStepView[];
  readonly now: LeaseRowView;
}

export interface InstanceView {
  readonly id: InstanceId;
  readonly alive: boolean;
  /** The grant its lease chart believes to hold; null outside `holding`. */
  readonly holds: Epoch | null;
}

export interface RoleView {
  readonly id: InstanceId;
  readonly holds: Epoch | null;
  /** The grant under which its leader side runs (endpoint, poller, deliveries); null when none runs. */
  readonly leadsUnder: Epoch | null;
}

/** What an instance does as leader. */
export interface LeaderSideView {
  readonly id: InstanceId;
  readonly leadsUnder: Epoch | null;
  /** `getUpdates` calls that are open. */
  readonly polls: number;
  /** The leader's endpoints of this instance: those open, and those closed since the last look. */
  readonly endpoints: readonly EndpointView[];
  /** Charts of seats that run, whoever sits. */
  readonly seatCharts: number;
  /** Followers that it would deliver to. */
  readonly entries: readonly RegistryEntryView[];
}

export interface EndpointView {
  /** It was there before the leader's own seat was written, or before the seats known to the store were taken up. */
  readonly wasEarly: boolean;
  readonly isOpen: boolean;
  /** Times that it was told to close. */
  readonly closes: number;
}

export interface RegistryEntryView {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
  readonly generation: Generation;
  readonly threadId: ThreadId;
  /** The last attempt of this instance that this leader acknowledged; null when there was none. */
  readonly lastAcknowledged: Generation | null;
}

/** What an instance believes and asks as follower. */
export interface FollowerSideView {
  readonly id: InstanceId;
  /** The registration it believes in; `isAcknowledged`: some leader said yes to just that attempt, to just this instance. */
  readonly registered: {
    readonly seat: SeatKey;
    readonly generation: Generation;
    readonly isAcknowledged: boolean;
  } | null;
  readonly heartbeatsInFlight: number;
  readonly registrationsInFlight: number;
}

/** A write under an epoch: what the writer presented, what was current, whether the store took it. */
export interface LeaderWriteView {
  readonly by: InstanceId;
  readonly presented: Epoch;
  readonly current: Epoch;
  readonly accepted: boolean;
}

export interface SeatView {
  readonly seat: SeatKey;
  readonly instanceId: InstanceId;
  readonly generation: Generation;
  /** Requests of this seat that took effect although their generation was not the current one. */
  readonly staleEffects: number;
}

/** The charts of one seat at one leader, and what the world remembers of the seat. */
export interface SeatChartView {
  readonly seat: SeatKey;
  readonly epoch: Epoch;
  readonly isLive: boolean;
  readonly sitter: Generation | null;
  /** Generation that sits, as the chart's own facts told it. */
  readonly told: Generation | null;
  readonly wasCommitted: boolean;
  /** What the store has; null when it has nobody. */
  readonly inStore: Generation | null;
}

/** Faults of a seat's story that only whoever watches all of it can see, since the beginning. */
export interface SeatGhostView {
  readonly seat: SeatKey;
  /** Threads created while an earlier creation for the seat was undecided. */
  readonly secondCreations: number;
  /** Registrations committed while a farewell of the seat was carried out. */
  readonly interleavings: number;
  /** Threads deleted that a registration had got after its clean-up was asked for. */
  readonly heldDeletions: number;
  /** Threads deleted without an instruction under way. */
  readonly unprovenDeletions: number;
  /** Registrations of a dead instance that replaced a living one's. */
  readonly revenants: number;
  /** Registrations that were ended as those of a dead process, while it ran. */
  readonly falseDeaths: number;
}

/** An update on its way in. */
export interface FetchedView {
  readonly updateId: UpdateId;
  /** Telegram will not give it again: a poll has asked beyond it. */
  readonly confirmed: boolean;
  readonly inJournal: boolean;
  readonly settled: number;
}

/** An update on its way to its end. */
export interface UpdateView {
  readonly updateId: UpdateId;
  readonly settled: number;
  /** Handlers that were given it, not counting redelivery after the proven death of an unsettled holder. */
  readonly handedOut: number;
  /** It was handed out before its predecessor in the same thread. */
  readonly overtook: boolean;
}

/** A take of the v1 owner record by an instance of ours, with what was true of its owner at that moment. */
export interface OwnerTakeView {
  readonly by: InstanceId;
  readonly over: "vacant" | "goneOwner" | "staleOwner" | "liveOwner";
}

/** The v1 owner record, and who acts on it. */
export interface OwnerView {
  /** Whose record stands in the file, whether or not it can be read just now. */
  readonly recordOf: InstanceId | null;
  /** Instances whose live record a v1 peer took by force, and which have not noticed: they do at their next look. */
  readonly overthrown: readonly InstanceId[];
  /** Instances whose owner chart keeps a record. */
  readonly keepers: readonly InstanceId[];
  /** Instances that may act as leader at this moment: told to, and within the time of record and lease. */
  readonly actors: readonly InstanceId[];
  readonly takes: readonly OwnerTakeView[];
}

/** A request that an endpoint's handler was given, and its answer. */
export interface ExchangeView {
  readonly at: InstanceId;
  readonly endpoint: "leader" | "follower";
  readonly kind: string;
  /** Times that this endpoint's handler was given this very request (same secret, same sender, same request id). */
  readonly executions: number;
  /** The secret was the one this endpoint expects; null when it expects none, having no registration. */
  readonly isAuthentic: boolean | null;
  readonly ok: boolean;
  readonly from: InstanceId | null;
  readonly presented: Generation | null;
  /** The generation that the endpoint held for the sender's registration when it was asked (a follower: its own). */
  readonly known: Generation | null;
  /** The generation that it holds for the sender when it answers. */
  readonly knownAfter: Generation | null;
  /** Writes of the store, and changes of the registry, between request and answer, in the step of both. */
  readonly effects: number;
}

export interface RegisterView {
  readonly at: InstanceId;
  readonly ok: boolean;
  readonly generation: Generation | null;
  readonly isCompatible: boolean;
  /** Registration requests, by their id, that any endpoint has been given with this generation of this instance. */
  readonly attempts: number;
  /** The epoch under which the endpoint was opened. */
  readonly epoch: Epoch;
  /** The epoch under which the store has taken this registration; null when it has not. */
  readonly committedUnder: Epoch | null;
  /** Whether the leader holds just this registration when it answers. */
  readonly isHeld: boolean;
}

/** A farewell that was answered. */
export interface FarewellView {
  readonly ok: boolean;
  /** The thread that the leaver had is gone at Telegram, and no instruction to delete it is left. */
  readonly isCleaned: boolean;
}

/** A forward as its recipient answered it. */
export interface ForwardView {
  readonly to: InstanceId;
  readonly ok: boolean;
  /** Presented, and what the recipient's own registration says. */
  readonly generation: Generation;
  readonly ownGeneration: Generation | null;
  readonly bindingKey: SeatKey;
  readonly ownSeat: SeatKey | null;
  readonly recipient: InstanceId;
  readonly deliveryId: string;
  /** The id that kind, binding key and source update id give. */
  readonly expectedDeliveryId: string;
  readonly sourceUpdateId: UpdateId;
  /** The update in the envelope is the one that it names. */
  readonly isCarrierRight: boolean;
  /** The recipient's claim is on disk, or came there while it was asked, or the update was ended before. */
  readonly isDurable: boolean;
  /** What a positive answer names. */
  readonly receipt: { readonly deliveryId: string; readonly sourceUpdateId: UpdateId } | null;
}

/** A forward as it left its leader. */
export interface SendView {
  readonly by: InstanceId;
  readonly to: InstanceId;
  readonly generation: Generation;
  /** This leader has had just this registration as a live one. */
  readonly wasLive: boolean;
}

/** An answer of a handler into its own thread: what its call came to, and how often users see it. */
export interface AnswerView {
  readonly threadId: ThreadId | null;
  /** Threads in which it stands. */
  readonly seenIn: readonly (ThreadId | null)[];
  /** What the call came to; null while it is open. */
  readonly outcome: "ok" | "rejected" | "throttled" | "notSent" | "ambiguous" | null;
}

/** One piece of work that may move, and who could begin it at this moment. */
export interface MovingWorkView {
  /** Live instances in whose queue it waits, not frozen. */
  readonly runnableAt: readonly InstanceId[];
  /** The instance that the journal names as its holder; null when there is none, and while it is on offer. */
  readonly heldBy: InstanceId | null;
  /** Handlers that began it, not counting redelivery. */
  readonly runs: number;
}

/** What was written in one thread that nobody had. */
export interface ReroutingView {
  /** How often a choice of the user's has moved one and the same of it, at most. */
  readonly movesMax: number;
  /** Times that the thread was deleted while something of it was neither taken elsewhere nor written too late. */
  readonly untakenDeletions: number;
}

export interface WorldView {
  readonly lease: { readonly epoch: Epoch; readonly holder: InstanceId | null };
  /** Since the last look. */
  readonly leaseHistory: LeaseHistoryView;
  readonly instances: readonly InstanceView[];
  readonly roles: readonly RoleView[];
  readonly leaderSides: readonly LeaderSideView[];
  readonly followerSides: readonly FollowerSideView[];
  /** Registrations that the store holds as current. */
  readonly seats: readonly SeatView[];
  readonly seatCharts: readonly SeatChartView[];
  readonly seatGhosts: readonly SeatGhostView[];
  /** Those touched since the last look, at least. */
  readonly fetched: readonly FetchedView[];
  /** The cursor in the store and those in pollers’ hands. */
  readonly cursors: readonly UpdateId[];
  /** Those touched since the last look, at least. */
  readonly updates: readonly UpdateView[];
  /** Updates of people who are not the owner; `wasGiven`: some handler was given it. */
  readonly strangers: readonly { readonly updateId: UpdateId; readonly wasGiven: boolean }[];
  readonly owner: OwnerView;
  /** Grants so far, the newest of them at least. */
  readonly grants: readonly GrantView[];
  /** Since the last look. */
  readonly writes: readonly LeaderWriteView[];
  /** Polls answered 409 because two instances of ours polled. */
  readonly ownConflicts: number;
  /** Since the last look. */
  readonly exchanges: readonly ExchangeView[];
  readonly registers: readonly RegisterView[];
  readonly farewells: readonly FarewellView[];
  readonly forwards: readonly ForwardView[];
  readonly sends: readonly SendView[];
  /** Answers that were touched since the last look. */
  readonly answers: readonly AnswerView[];
  /** Calls that arrived at Telegram since the last look. */
  readonly apiCalls: readonly ApiCallView[];
  /** Telegram's own list. */
  readonly telegram: ThreadsView;
  readonly tables: TablesView;
  /** Writes of the store since the last look. */
  readonly storeSteps: readonly StoreStepView[];
  readonly moving: readonly MovingWorkView[];
  readonly rerouting: readonly ReroutingView[];
  /** What instances have in hand. */
  readonly queues: readonly QueueView[];
  readonly queueEntries: readonly QueueEntryView[];
  /** Those touched since the last look, at least. */
  readonly ledger: readonly LedgerStepView[];
  /** Since the last look. */
  readonly endpointSteps: readonly EndpointStepView[];
  /** Since the last look. */
  readonly ownerFileSteps: readonly OwnerFileStepView[];
  /** Since the last look. */
  readonly offerRelays: readonly OfferRelayView[];
  /** Since the last look. */
  readonly offersEnded: readonly OfferEndedView[];
  /** Since the last look. */
  readonly messageChanges: readonly MessageChangeView[];
  /** Since the last look. */
  readonly heartbeatEnds: readonly HeartbeatEndView[];
}

export type Part = keyof WorldView;

/** What a world shows that has these parts. */
export type Shown<Parts extends Part> = Pick<WorldView, Parts>;
