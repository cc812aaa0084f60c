/**
 * Seeded faults of the question whose a thread shall be: its chart, its rules, what the store moves for it.
 *
 * Owns: those faults. Does not own: applying and trying them (`faults.ts`).
 */
import { unit } from "./fault.ts";
import type { Fault } from "./fault.ts";

const chart = "machines/reroute.machine.ts";
const rules = "machines/reroute.rules.ts";

export const rerouteFaults: readonly Fault[] = [
  {
    name: "a thread is deleted before its content was taken elsewhere",
    file: chart,
    find: "guard: ({ context }) => context.open.length === 0",
    replace: "guard: ({ context }) => context.open.length >= 0",
    tries: [unit("machines/reroute.machine", "only when everything was taken")],
  },
  {
    name: "a choice whose outcome is unknown may be made again, for another thread",
    file: chart,
    find: 'pausing: { after: { retryInterval: "writing" } }',
    replace: 'pausing: { after: { retryInterval: "#reroute.choosing" } }',
    tries: [unit("machines/reroute.machine", "outcome is not known")],
  },
  {
    name: "a press after the content has moved moves what is there once more",
    file: chart,
    find: '        unconfirmed: {\n          on: {\n            "chooser.pressed": { target: "deleting", actions: "saySettled" },\n            "content.arrived": { target: "#reroute.done", actions: "tellLeft" },\n          },\n        },\n      },\n    },\n\n    /** The thread stays',
    replace:
      '        unconfirmed: {\n          on: {\n            "chooser.pressed": { target: "#reroute.moving", actions: "rememberPress" },\n            "content.arrived": { target: "#reroute.done", actions: "tellLeft" },\n          },\n        },\n      },\n    },\n\n    /** The thread stays',
    tries: [unit("machines/reroute.machine", "Q-70|T-52")],
  },
  {
    name: "a question is asked for ever",
    file: chart,
    find: '      after: { lifetime: "dismissing" },\n      states: {\n        asking',
    replace: "      after: { lifetime: {} },\n      states: {\n        asking",
    tries: [unit("machines/reroute.machine", "OP-40")],
  },
  {
    name: "what ended unheard counts as taken",
    file: chart,
    find: '"content.ended": { guard: "isAmongThem", target: "dismissing" }',
    replace: '"content.ended": { guard: "isLast", target: "settling", actions: "takeOff" }',
    tries: [unit("machines/reroute.machine", "ended unheard")],
  },
  {
    name: "a button does not name the leadership that made it",
    file: rules,
    find: "`${epoch.toString(36)}.${count.toString(36)}`",
    replace: "`${Math.min(epoch, 1).toString(36)}.${count.toString(36)}`",
    tries: [unit("machines/reroute.rules", "T-50")],
  },
  {
    name: "what goes to another thread goes on naming its own",
    file: rules,
    find: "{ ...said, message_thread_id: thread, is_topic_message: true }",
    replace: "{ message_thread_id: thread, is_topic_message: true, ...said }",
    tries: [unit("machines/reroute.rules", "names that thread")],
  },
  {
    name: "the store gives a thread's content to somebody who is not registered",
    file: "adapters/store/memory/journal.ts",
    find: "if (!isSitting) return",
    replace: "if (!isSitting && from === to) return",
    tries: [unit("store/memory", "OP-34")],
  },
  {
    name: "a rerouted thread is deleted although something of it waits",
    file: "adapters/store/memory/cleanup-store.ts",
    find: 'cleanup.phase === "waiting" && isWaitedIn(db, target)',
    replace: 'cleanup.phase !== "waiting" && isWaitedIn(db, target)',
    tries: [unit("store/memory", "Q-71")],
  },
];
