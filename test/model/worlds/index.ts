/**
 * The worlds that `npm run check` explores, with their bounds.
 *
 * Owns: which worlds there are, how far each goes by default and with `--long`. Does not own: any world.
 */
import { checkLiveness, explore } from "../../../testing/explorer/index.ts";
import type { Exploration, ExploreOptions, LivenessResult, World } from "../../../testing/explorer/index.ts";
import { activationWorld } from "./activation.world.ts";
import type { ActivationBounds } from "./activation.world.ts";
import { deliveryWorld } from "./delivery.world.ts";
import type { DeliveryBounds } from "./delivery.world.ts";
import { handoffWorld } from "./handoff.world.ts";
import type { HandoffBounds } from "./handoff.world.ts";
import { leaseWorld } from "./lease.world.ts";
import type { LeaseBounds } from "./lease.world.ts";
import { membershipWorld } from "./membership.world.ts";
import type { MembershipBounds } from "./membership.world.ts";
import { ownerWorld } from "./owner.world.ts";
import type { OwnerBounds } from "./owner.world.ts";
import { pollingWorld } from "./polling.world.ts";
import type { PollingBounds } from "./polling.world.ts";
import { queueWorld } from "./queue.world.ts";
import type { QueueBounds } from "./queue.world.ts";
import { rerouteWorld } from "./reroute.world.ts";
import type { RerouteBounds } from "./reroute.world.ts";
import { registrationWorld } from "./registration.world.ts";
import type { RegistrationBounds } from "./registration.world.ts";

/** A world behind one face, whatever its environment is. */
export interface CheckedWorld {
  readonly name: string;
  run(options: ExploreOptions & { readonly long: boolean }): {
    readonly exploration: Exploration<never, never, never>;
    readonly liveness: LivenessResult | null;
  };
}

interface Bounded<Env, Seen, View> {
  readonly short: World<Env, Seen, View>;
  /** Wider bounds; null = the short ones are as wide as it goes in a few minutes. */
  readonly long: World<Env, Seen, View> | null;
  readonly liveness: boolean;
}

function checked<Env, Seen, View>({ short, long, liveness }: Bounded<Env, Seen, View>): CheckedWorld {
  return {
    name: short.name,
    run: (options) => {
      const exploration = explore(options.long ? (long ?? short) : short, { ...options, asymmetric: liveness });
      return {
        // The callers read counts and hand the whole back to the explorer; they never look into env, seen or view.
        exploration: exploration as unknown as Exploration<never, never, never>,
        liveness: liveness && exploration.exhaustive ? checkLiveness(exploration) : null,
      };
    },
  };
}

/** What all worlds of one kind have in common: how a bound becomes a world, and the bounds of one in which nothing goes wrong. */
function kindOf<Bounds, Env, Seen, View>(
  make: (bounds: Bounds, name: string) => World<Env, Seen, View>,
  quiet: Bounds,
) {
  const row =
    (liveness: boolean) =>
    (name: string, short: Partial<Bounds>, long: Partial<Bounds> | null = null): CheckedWorld =>
      checked({
        short: make({ ...quiet, ...short }, name),
        long: long === null ? null : make({ ...quiet, ...short, ...long }, name),
        liveness,
      });
  return { safe: row(false), live: row(true) };
}

// Bounds in which nothing goes wrong; each world below names what does.
export const quietLease: LeaseBounds = {
  instances: 2,
  epochs: 2,
  renewals: 1,
  crashes: 0,
  restarts: 0,
  pauses: 0,
  losses: 0,
  releases: 0,
  writes: 0,
};
export const quietOwner: OwnerBounds = {
  instances: 2,
  takes: 2,
  refreshes: 0,
  epochs: 1,
  renewals: 0,
  orphans: 0,
  isPreceded: false,
  crashes: 0,
  releases: 0,
  losses: 0,
  damages: 0,
  v1Takes: 0,
  v1Forces: 0,
  v1Releases: 0,
  v1Crashes: 0,
};
/** One instance, in more detail than two can be looked at. */
const alone = { instances: 1, refreshes: 1, epochs: 2, renewals: 1, orphans: 1 } as const;
export const quietPolling: PollingBounds = { updates: 2, leaders: 2, troubles: 0, losses: 0, fulls: 0, crashes: 0 };
export const quietDelivery: DeliveryBounds = {
  updates: 2,
  leaders: 2,
  failures: 0,
  losses: 0,
  claimLosses: 0,
  silences: 0,
  deaths: 0,
  crashes: 0,
  unowned: 0,
  isPatienceFinite: false,
  foreign: [],
  attempts: 0,
};
export const quietHandoff: HandoffBounds = { offers: 1, recalls: 0, deaths: 0, losses: 0, stales: 0 };
export const quietActivation: ActivationBounds = {
  hadThread: false,
  isPaired: true,
  topics: "always",
  losses: 0,
  troubles: 0,
  rejections: 0,
  deletions: 0,
  breaks: 0,
  doubts: 0,
  words: 0,
  pairings: 0,
  fences: 0,
  stops: 0,
};
export const quietMembership: MembershipBounds = {
  attempts: 3,
  losses: 0,
  refusals: 0,
  forgets: 0,
  closings: 0,
  moves: 0,
  lates: 0,
  leaves: 0,
};
export const quietQueue: QueueBounds = {
  prompts: 2,
  asides: 0,
  commands: 0,
  offers: 0,
  reactions: 0,
  holds: 0,
  losses: 0,
  stolen: 0,
};
export const quietRegistration: RegistrationBounds = {
  attempts: 2,
  leaders: 1,
  heartbeats: 0,
  farewells: 0,
  deaths: 0,
  impatience: 0,
  losses: 0,
  commitLosses: 0,
  troubles: 0,
  closings: 0,
  unprovable: 0,
  crashes: 0,
  waits: 0,
  deletions: 0,
  doubts: 0,
  evidence: 0,
};

export const quietReroute: RerouteBounds = {
  isAlbum: false,
  writes: 0,
  presses: 1,
  losses: 0,
  absences: 0,
  ends: 0,
  takeovers: 0,
  retries: 0,
  questions: 0,
};

const lease = kindOf((bounds: LeaseBounds, name) => leaseWorld(bounds, undefined, name), quietLease);
const owner = kindOf((bounds: OwnerBounds, name) => ownerWorld(bounds, undefined, name), quietOwner);
const polling = kindOf((bounds: PollingBounds, name) => pollingWorld(bounds, undefined, name), quietPolling);
const delivery = kindOf((bounds: DeliveryBounds, name) => deliveryWorld(bounds, undefined, name), quietDelivery);
const handoff = kindOf((bounds: HandoffBounds, name) => handoffWorld(bounds, undefined, name), quietHandoff);
const activation = kindOf(
  (bounds: ActivationBounds, name) => activationWorld(bounds, undefined, name),
  quietActivation,
);
const membership = kindOf(
  (bounds: MembershipBounds, name) => membershipWorld(bounds, undefined, name),
  quietMembership,
);
const queue = kindOf((bounds: QueueBounds, name) => queueWorld(bounds, undefined, name), quietQueue);
const registration = kindOf(
  (bounds: RegistrationBounds, name) => registrationWorld(bounds, undefined, name),
  quietRegistration,
);
const reroute = kindOf((bounds: RerouteBounds, name) => rerouteWorld(bounds, undefined, name), quietReroute);

export const worlds: readonly CheckedWorld[] = [
  // Three stand for one lease; two go through each kind of fault; two must come to a leader once faults have stopped,
  // though hints go on for ever.
  lease.safe("lease/three", { instances: 3, crashes: 1 }, { pauses: 1 }),
  lease.safe("lease/restart", { crashes: 1, restarts: 1 }, { losses: 1 }),
  lease.safe("lease/losses", { pauses: 1, losses: 1 }),
  lease.safe("lease/releases", { losses: 1, releases: 2 }),
  lease.safe("lease/writes", { pauses: 1, writes: 1 }, { epochs: 3, writes: 2 }),
  lease.live("lease/liveness", { crashes: 1, hints: "free" }, { epochs: 3, pauses: 1 }),

  // Two stand for one record, with the lease inside; one goes through each kind of fault beside a v1 process.
  owner.safe("owner/two", {}, { epochs: 2, refreshes: 1 }),
  owner.safe("owner/death", { crashes: 1 }, { epochs: 2 }),
  owner.safe("owner/turns", { ...alone, v1Takes: 1, v1Releases: 1, v1Crashes: 1, releases: 1 }, { takes: 3 }),
  owner.safe("owner/losses", { ...alone, losses: 2, releases: 2 }, { takes: 3 }),
  owner.safe("owner/force", { ...alone, v1Forces: 1, v1Crashes: 1, losses: 1 }, { takes: 3 }),
  owner.safe("owner/damage", { ...alone, damages: 1, releases: 1, losses: 1 }, { v1Takes: 1 }),
  owner.live("owner/liveness", { instances: 1, v1Takes: 1, v1Crashes: 1, losses: 1 }),

  // Two leaders poll; one poller meets every answer; one must get everything into the journal.
  polling.safe("polling/leaders", { updates: 3, losses: 1, crashes: 1 }, { troubles: 1 }),
  polling.safe("polling/answers", { troubles: 1, losses: 1, fulls: 1 }, { updates: 3, crashes: 1 }),
  polling.live(
    "polling/liveness",
    { leaders: 1, troubles: 2, losses: 1, fulls: 1, crashes: 1 },
    { updates: 3, losses: 2 },
  ),

  // One lane: its order; claims in doubt; a change of hands; a change of leader; every other end that an update can come to.
  delivery.safe("delivery/order", { updates: 3, failures: 1, losses: 1 }, { silences: 1, crashes: 1 }),
  delivery.safe(
    "delivery/claims",
    { updates: 3, leaders: 1, failures: 1, claimLosses: 1, silences: 1 },
    { leaders: 2, losses: 1 },
  ),
  delivery.safe("delivery/leaders", { losses: 1, deaths: 1, crashes: 1 }, { failures: 1 }),
  delivery.safe("delivery/ends", { losses: 1, unowned: 1, isPatienceFinite: true, foreign: [0] }, { failures: 1 }),
  delivery.safe("delivery/attempts", { failures: 2, losses: 1, attempts: 11 }),
  delivery.live("delivery/liveness", { leaders: 1, failures: 1, losses: 2, silences: 1, deaths: 1 }, { failures: 2 }),

  // One piece of work: a single offer through every fault; there and back; deaths on both sides; it always ends.
  handoff.safe("handoff/losses", { losses: 3, recalls: 1, stales: 1 }, { losses: 4 }),
  handoff.safe("handoff/hops", { offers: 3, recalls: 1, losses: 1 }, { losses: 2 }),
  handoff.safe("handoff/deaths", { offers: 2, deaths: 2, losses: 1 }, { deaths: 3, recalls: 1 }),
  handoff.live("handoff/liveness", { deaths: 1, losses: 2, recalls: 1, stales: 1 }, { offers: 2 }),

  // One queue: commands, offers and reactions while turns come and go; updates outside turns; everything ends.
  queue.safe("queue/turns", { commands: 2, reactions: 1, losses: 1, stolen: 1 }, { prompts: 3 }),
  queue.safe("queue/offers", { commands: 2, offers: 2, holds: 1 }, { prompts: 3, losses: 1 }),
  queue.safe("queue/asides", { prompts: 0, asides: 3, holds: 2 }, { asides: 4 }),
  queue.live("queue/liveness", { commands: 2, offers: 1, holds: 1, losses: 1 }, { prompts: 3 }),

  // One leadership: every step fails, is rolled back and tried again; the switch from classic; the own thread; it serves in the end.
  activation.safe(
    "activation/rollback",
    { losses: 2, troubles: 1, rejections: 1, deletions: 1, breaks: 2, fences: 1, stops: 1 },
    { losses: 3, breaks: 3, deletions: 2 },
  ),
  activation.safe("activation/classic", { topics: "later", losses: 1, breaks: 2, words: 1, fences: 1, stops: 1 }),
  activation.safe("activation/thread", {
    hadThread: true,
    losses: 2,
    rejections: 1,
    deletions: 1,
    doubts: 2,
    breaks: 1,
    words: 1,
    pairings: 1,
    fences: 1,
    stops: 2,
  }),
  activation.safe("activation/pairing", {
    isPaired: false,
    topics: "later",
    pairings: 3,
    troubles: 2,
    losses: 1,
    words: 1,
    fences: 1,
    stops: 1,
  }),
  activation.live("activation/liveness", {
    topics: "later",
    losses: 1,
    troubles: 1,
    rejections: 1,
    deletions: 1,
    breaks: 1,
    doubts: 1,
    fences: 1,
  }),

  // One follower: everything that can come between it and its leader; it is registered or has left in the end.
  membership.safe(
    "membership/leader",
    { losses: 2, refusals: 1, forgets: 1, closings: 1, moves: 1, lates: 1, leaves: 2 },
    { attempts: 6, losses: 4, forgets: 2, closings: 4, lates: 2 },
  ),
  membership.live("membership/liveness", { losses: 2, refusals: 1, forgets: 1, closings: 1, leaves: 1 }),

  // One seat: repeated attempts; farewells; death and return; the making of its thread; a change of leader.
  registration.safe(
    "registration/attempts",
    { attempts: 3, impatience: 1, heartbeats: 1, farewells: 1, closings: 1, losses: 1, commitLosses: 1 },
    { impatience: 2, heartbeats: 2, losses: 2 },
  ),
  registration.safe(
    "registration/farewells",
    { impatience: 1, farewells: 2, heartbeats: 1, closings: 1, losses: 1 },
    { farewells: 3, losses: 2 },
  ),
  registration.safe(
    "registration/death",
    { deaths: 1, closings: 2, unprovable: 1, heartbeats: 1, losses: 1 },
    { attempts: 3, farewells: 1 },
  ),
  registration.safe(
    "registration/threads",
    { attempts: 3, impatience: 2, troubles: 2, waits: 1, losses: 1 },
    { troubles: 3, losses: 2 },
  ),
  registration.safe(
    "registration/proofs",
    { attempts: 2, deaths: 1, impatience: 1, troubles: 1, deletions: 1, evidence: 1, losses: 1 },
    { attempts: 3, troubles: 2, losses: 2 },
  ),
  registration.safe(
    "registration/replacing",
    { attempts: 2, impatience: 1, farewells: 1, heartbeats: 1, deletions: 1, doubts: 2, commitLosses: 1, losses: 1 },
    { attempts: 3, troubles: 2, losses: 2 },
  ),
  registration.safe(
    "registration/leaders",
    { attempts: 3, leaders: 2, impatience: 1, closings: 1, crashes: 1, farewells: 1 },
    { losses: 1 },
  ),

  // One question: every answer and its failures; what comes late while it is asked, moved and deleted; another leader's.
  reroute.safe("reroute/answers", { presses: 2, absences: 3, losses: 1, ends: 1 }, { absences: 4, losses: 2 }),
  reroute.safe(
    "reroute/late",
    { isAlbum: true, writes: 1, presses: 2, losses: 1, retries: 1, questions: 1 },
    { presses: 3, losses: 2 },
  ),
  reroute.safe("reroute/leaders", { writes: 1, presses: 2, takeovers: 1, questions: 1, retries: 1 }, { losses: 1 }),
];
