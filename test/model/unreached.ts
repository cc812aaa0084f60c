/**
 * States and transitions that no world reaches, each with the reason why that is right.
 *
 * Names are those of the uncovered report. An entry that a world does reach is stale, and fails the run as well.
 */
const busy = "64 requests of one seat at once are beyond any bound; the chart's own tests send them";
const defectOfAChild =
  "the child answers every failure of its slots by its output; only a defect of its own comes here";
const mutating = ["provisioning", "fencing", "refencing", "rethreading", "ending", "disconnecting"];

export const unreached: ReadonlyMap<string, string> = new Map([
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
    "registration.disconnecting on xstate.error.actor.0.registration.disconnecting [0] → registration.live",
    defectOfAChild,
  ],
]);
