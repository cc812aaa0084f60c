/**
 * States and transitions that no world reaches, each with the reason why that is right.
 *
 * Names are those of the uncovered report. An entry that a world does reach is stale, and fails the run as well.
 */
const busy = "64 requests of one seat at once are beyond any bound; the chart's own tests send them";
const defectOfAChild =
  "the child answers every failure of its slots by its output; only a defect of its own comes here";
const supergroup = "the chat of this world is private, where a thread is deleted directly";
const fencedLate = "no leader of this world is replaced while it writes that a deletion is put off";
const leadsOn =
  "a leader that may be replaced loses no answer, and no thread, in these worlds; the chart's own tests do";
const mutating = ["provisioning", "fencing", "refencing", "rethreading", "ending", "disconnecting", "live.replacing"];

const bringsNothing = "in this world nobody brings a thread along; the chart's own tests do";
const done = (state: string) => `xstate.done.actor.0.provisioning.${state}`;

const released =
  "a companion that is let go says nothing more, and inside `owning` every word of it is heard or handled";
const ownerCompanion = "the lease chart breaks by a defect of its own only; the unit tests break it";
const wordOfNone =
  "a companion is gone with the state that it belongs to, and in a step of the whole it has no last word; or its word decides nothing";
const onlyConflicts = "other troubles of the poller decide nothing: this world has conflicts";
const lateWords = [
  "endpoint.open",
  "endpoint.failed",
  "dispatcher.fenced",
  "polling.answered",
  "polling.idsAccepted",
  "polling.troubled",
  "polling.fenced",
  "polling.stopped",
  "reconciliation.planned",
  "reconciliation.fenced",
  "pairing.known",
  "pairing.missing",
  "token.renewed",
];
const lateOnTheWayOut = [
  "companion.failed",
  "endpoint.failed",
  "polling.fenced",
  "dispatcher.fenced",
  "reconciliation.fenced",
  "pairing.known",
  "pairing.missing",
];
const heldAlready = "whoever listens says so once, and so does whoever stops listening";
const ownerHeard = ["granted", "renewed", "lost", "troubled", "released"];

const tokenTaken = "Telegram takes the token in this world; the chart's own tests and whole instances have it rejected";

/** Charts that no world runs, each with what runs it beside its own tests, which take every transition of every chart. */
export const unexplored: ReadonlyMap<string, string> = new Map([
  ["capability", "two questions and an answer; whole instances in simulation run it"],
  ["grouping", "gathers the parts of one message; albums that real processes are sent run it"],
  ["instance", "its companions are charts of their own worlds; whole instances in simulation run them together"],
  ["reconciliation", "plans over the whole store, which worlds have in parts; whole instances in simulation run it"],
]);

export const unreached: ReadonlyMap<string, string> = new Map([
  ["polling on token.renewed [0] → no target", tokenTaken],
  ["polling.fetching on xstate.done.actor.0.polling.fetching [1] → polling.rejected", tokenTaken],
  ["state polling.rejected", tokenTaken],
  ["polling.rejected on token.renewed [0] → polling.fetching", tokenTaken],
  ["polling.rejected on xstate.after.rejectedPause.polling.rejected [0] → polling.renewing", tokenTaken],
  ["state polling.renewing", tokenTaken],
  ["polling.renewing on xstate.done.actor.0.polling.renewing [0] → polling.fetching", tokenTaken],
  ["polling.renewing on xstate.error.actor.0.polling.renewing [0] → polling.fetching", tokenTaken],
  [
    "handoffDonor.frozen.looking on xstate.done.actor.0.handoffDonor.frozen.looking [2] → cancelling",
    "once its cancellation was answered no offer is open; should a store say so, it is cancelled again",
  ],
  ...lateWords.map((word): [string, string] => [`activation on ${word} [0] → no target`, wordOfNone]),
  ["activation.dormant.polled on polling.troubled [1] → no target", onlyConflicts],
  ["activation.pairing.polled on polling.troubled [1] → no target", onlyConflicts],
  ["activation.serving.polled.active on polling.troubled [1] → no target", onlyConflicts],
  ...lateOnTheWayOut.map((word): [string, string] => [
    `activation.provisioning.ending on ${word} [0] → no target`,
    wordOfNone,
  ]),
  ["activation.fencedOff on companion.failed [0] → no target", wordOfNone],
  [
    "membership on companion.failed [0] → no target",
    "the companion lives in `registered`, which answers; its last word could only be late within one step",
  ],
  ["queue on host.attached [0] → no target", heldAlready],
  ["queue on host.detached [0] → no target", heldAlready],
  ["provisioning.decided on always [2] → provisioning.keeping", bringsNothing],
  ["provisioning.doubting on always [0] → provisioning.suspecting", bringsNothing],
  ["state provisioning.suspecting", bringsNothing],
  [`provisioning.suspecting on ${done("suspecting")} [0] → provisioning.fenced`, bringsNothing],
  [`provisioning.suspecting on ${done("suspecting")} [1] → provisioning.rejected`, bringsNothing],
  [
    "provisioning.suspecting on xstate.error.actor.0.provisioning.suspecting [0] → provisioning.rejected",
    bringsNothing,
  ],
  [`provisioning.probing on ${done("probing")} [2] → provisioning.keeping`, "the chat of this world is private"],
  [
    `provisioning.keeping on ${done("keeping")} [2] → provisioning.conflicted`,
    "only the seat itself changes its binding, and it does one thing at a time; an operator is not in this world",
  ],
  [
    "provisioning.conflicted on xstate.after.conflictPause.provisioning.conflicted [1] → provisioning.rejected",
    "twenty conflicts of one registration are beyond any bound",
  ],
  [`provisioning.binding on ${done("binding")} [1] → provisioning.rejected`, "nobody leaves during a creation here"],
  ...mutating.flatMap((state): [string, string][] => [
    [`registration.${state} on follower.register [1] → no target`, busy],
    [`registration.${state} on follower.disconnect [1] → no target`, busy],
  ]),
  [
    "registration on companion.failed [0] → no target",
    "the companion lives in `live`, which answers; its last word could only be late within one step",
  ],
  [
    "registration.provisioning on xstate.error.actor.0.registration.provisioning [0] → registration.settling",
    defectOfAChild,
  ],
  [
    "registration.refencing.writing on xstate.done.actor.0.registration.refencing.writing [3] → registration.settling",
    leadsOn,
  ],
  [
    "registration.refencing.writing on xstate.error.actor.0.registration.refencing.writing [0] → registration.refencing.pausing",
    "the answer to a registration's commit is lost once at most; the chart's own tests lose it again",
  ],
  [
    "registration.live.replacing.moving on xstate.done.actor.0.registration.live.replacing.moving [2] → registration.live.heard",
    leadsOn,
  ],
  [
    "registration.disconnecting on xstate.error.actor.0.registration.disconnecting [0] → registration.live",
    defectOfAChild,
  ],
  [
    "registration.live.replacing.provisioning on xstate.error.actor.0.registration.live.replacing.provisioning [0] → registration.live.heard",
    defectOfAChild,
  ],
  ...ownerHeard.map((word): [string, string] => [`owner on lease.${word} [0] → no target`, released]),
  ["owner on companion.failed [0] → no target", ownerCompanion],
  ["owner.owning.both on companion.failed [0] → owner.owning.revoking", ownerCompanion],
  ["owner.owning.revoking on companion.failed [0] → owner.returning", ownerCompanion],
  ["owner.owning.letting on companion.failed [0] → owner.releasing", ownerCompanion],
  [
    "delivery.trying.forwarding on xstate.done.actor.0.delivery.trying.forwarding [1] → delivery.returned",
    "early is what the hand says when a lane has several updates under way; a dispatcher of this world has one",
  ],
  ["cleanup.proving on xstate.done.actor.0.cleanup.proving [0] → cleanup.closing", supergroup],
  ["state cleanup.closing", supergroup],
  ["cleanup.closing on xstate.done.actor.0.cleanup.closing [0] → cleanup.deleting", supergroup],
  ["cleanup.closing on xstate.error.actor.0.cleanup.closing [0] → cleanup.deleting", supergroup],
  ["cleanup.postponing on xstate.done.actor.0.cleanup.postponing [0] → cleanup.ended", fencedLate],
  ["cleanup.postponing on xstate.error.actor.0.cleanup.postponing [0] → cleanup.ended", fencedLate],
  [
    "reroute.cleaning.deleting on xstate.error.actor.0.reroute.cleaning.deleting [0] → reroute.cleaning.unconfirmed",
    defectOfAChild,
  ],
]);
