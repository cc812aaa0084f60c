/**
 * Seeded faults of an instance's own sides: its queue, its membership as a follower, its leadership.
 *
 * Owns: what is changed in those charts. Does not own: every other fault (`catalogue.ts`).
 */
import { explored, unit } from "./fault.ts";
import type { Fault } from "./fault.ts";

const queue = "machines/queue.machine.ts";
const membership = "machines/membership.machine.ts";
const activation = "machines/activation.machine.ts";

export const sideFaults: readonly Fault[] = [
  {
    name: "a stop does not reach the item that is on its way to the host",
    file: queue,
    find: '{ guard: "isStop", target: ".revoked", actions: stopping },',
    replace: '{ guard: "isStop", actions: stopping },',
    tries: [unit("machines/queue.machine")],
  },
  {
    name: "an item whose taking up was not observed is forgotten",
    file: queue,
    find: '{ target: "pausing", actions: "putBack" },',
    replace: '{ target: "pausing", actions: "forgetCurrent" },',
    tries: [...explored("queue/turns"), unit("machines/queue.machine")],
  },
  {
    name: "what is another's by now is begun",
    file: queue,
    find: 'guard: ({ event }) => event.output.kind === "notOurs",',
    replace: "guard: () => false,",
    tries: [...explored("queue/turns"), unit("machines/queue.machine")],
  },
  {
    name: "what is offered and recalled is run when it comes back",
    file: queue,
    find: 'guard: ({ context, event }) => itemOf(context, event.id)?.standing === "recalled",',
    replace: 'guard: ({ context, event }) => itemOf(context, event.id)?.standing === "waiting",',
    tries: [...explored("queue/offers"), unit("machines/queue.machine")],
  },
  {
    name: "an update outside turns that has ended keeps its place",
    file: queue,
    find: "asidesAtHost: ({ context }) => context.asidesAtHost - 1",
    replace: "asidesAtHost: ({ context }) => context.asidesAtHost",
    tries: [...explored("queue/asides"), unit("machines/queue.machine")],
  },
  {
    name: "a follower whose registration got no answer never knocks again",
    file: membership,
    find: 'after: { recoverPause: "registering" },',
    replace: "",
    tries: explored("membership/liveness", "membership/leader"),
  },
  {
    name: "a heartbeat that the leader refused counts as one",
    file: membership,
    find: '{ guard: ({ event }) => event.output.kind === "alive", target: "resting" },',
    replace: '{ guard: ({ event }) => event.output.kind !== "unreachable", target: "resting" },',
    tries: [...explored("membership/liveness", "membership/leader"), unit("machines/membership.machine")],
  },
  {
    name: "a thread that was given to an earlier registration is taken for ours",
    file: membership,
    find: '"thread.moved": { guard: "isCurrent", actions: "reportMoved" },',
    replace: '"thread.moved": { actions: "reportMoved" },',
    tries: [...explored("membership/leader"), unit("machines/membership.machine")],
  },
  {
    name: "a break makes a stop that waits for a thread forgotten",
    file: activation,
    find: '        "companion.failed": {},\n        "endpoint.failed": {},\n        "polling.fenced": {},',
    replace: '        "endpoint.failed": {},\n        "polling.fenced": {},',
    tries: [unit("machines/activation.machine")],
  },
  {
    name: "nobody being paired makes a stop that waits for a thread forgotten",
    file: activation,
    find: '        "pairing.missing": {},\n      },',
    replace: "      },",
    tries: [unit("machines/activation.machine", "C38")],
  },
  {
    name: "a leader whose thread is made while it stops does not say which it is",
    file: activation,
    find: '            guard: "isEnding",\n            target: "stopped",\n            actions: assign({',
    replace: '            guard: "isEnding",\n            target: "stopped",\n            actions: ({}) => ({',
    tries: [unit("machines/activation.machine", "C38")],
  },
  {
    name: "the endpoint opens although the seat was not written",
    file: activation,
    find: '{ guard: ({ event }) => event.output.kind === "committed", target: "serving" },',
    replace: '{ guard: ({ event }) => event.output.kind !== "threadGone", target: "serving" },',
    tries: [...explored("activation/rollback"), unit("machines/activation.machine")],
  },
  {
    name: "a leadership goes on in its own chat when somebody else is paired",
    file: "machines/activation.setup.ts",
    find: '"pairing.known": [{ guard: "isOtherChat", target: "#activation.identifying", actions: "moveToChat" }, {}],',
    replace: '"pairing.known": [{}],',
    tries: [unit("machines/activation.machine", "3.3")],
  },
];
