/**
 * Seeded faults of the question whose a thread shall be: its chart, its rules, what the store moves for it.
 *
 * Owns: those faults. Does not own: applying and trying them (`faults.ts`).
 */
import { explored, unit } from "./fault.ts";
import type { Fault } from "./fault.ts";

const chart = "machines/reroute.machine.ts";
const rules = "machines/reroute.rules.ts";

export const rerouteFaults: readonly Fault[] = [
  {
    name: "a thread is deleted before its content was taken elsewhere",
    file: chart,
    find: "guard: ({ context }) => context.open.length === 0",
    replace: "guard: ({ context }) => context.open.length >= 0",
    tries: [...explored("reroute/late"), unit("machines/reroute.machine", "only when everything was taken")],
  },
  {
    name: "a choice whose outcome is unknown may be made again, for another thread",
    file: chart,
    find: 'after: { retryInterval: "writing" }',
    replace: 'after: { retryInterval: "#reroute.choosing" }',
    tries: [unit("machines/reroute.machine", "outcome is not known")],
  },
  {
    name: "a press after the content has moved moves what is there once more",
    file: chart,
    find: 'after: { lifetime: "#reroute.done" },\n          on: {\n            "chooser.pressed": { target: "deleting", actions: "saySettled" },',
    replace:
      'after: { lifetime: "#reroute.done" },\n          on: {\n            "chooser.pressed": { target: "#reroute.moving", actions: "rememberPress" },',
    tries: [...explored("reroute/late"), unit("machines/reroute.machine", "Q-70|T-52")],
  },
  {
    name: "a question is asked for ever",
    file: chart,
    find: '      after: { lifetime: "dismissing" },\n      on: presses',
    replace: "      after: { lifetime: {} },\n      on: presses",
    tries: [unit("machines/reroute.machine", "OP-40")],
  },
  {
    name: "what ended unheard counts as taken",
    file: chart,
    find: '"content.ended": { guard: "isAmongThem", target: "dismissing" }',
    replace: '"content.ended": { guard: "isLast", target: "settling", actions: "takeOff" }',
    tries: [...explored("reroute/answers"), unit("machines/reroute.machine", "ended unheard")],
  },
  {
    name: "a thread is deleted when all that is known to have moved was taken, though more may have moved before",
    file: chart,
    find: "entry: assign({ mayDelete: false })",
    replace: "entry: assign({ mayDelete: true })",
    tries: explored("reroute/late"),
  },
  {
    name: "a question ends while its thread is being deleted",
    file: chart,
    find: '    cleaning: {\n      initial: "deleting",',
    replace: '    cleaning: {\n      after: { lifetime: "done" },\n      initial: "deleting",',
    tries: explored("reroute/late"),
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
  {
    name: "what is written in a thread that nobody has is set aside at once",
    file: "services/delivery.ts",
    find: 'return { kind: "unowned", isAsked: verdict.kind === "ask", reason: unownedReason };',
    replace: 'return { kind: "nobody", reason: unownedReason };',
    tries: [unit("simulator/reroute-crashes"), unit("wire/choosers", "T-47")],
  },
  {
    name: "what a question moved is looked for in its old thread",
    file: "adapters/store/memory/journal.ts",
    find: "entry: { ...open.entry, ...there, assignedTo: null }",
    replace: "entry: { ...there, ...open.entry, assignedTo: null }",
    tries: [unit("simulator/reroute-crashes"), unit("store/memory", "OP-40")],
  },
  {
    name: "content is taken from a thread that some seat has by now",
    file: "adapters/store/memory/journal.ts",
    find: "const waiting = isBound ? [] : waitingIn(db, from);",
    replace: "const waiting = isBound && from === to ? [] : waitingIn(db, from);",
    tries: [unit("store/memory", "that some seat has by now"), unit("wire/choosers", "some seat's")],
  },
  {
    name: "a button of an agent's own is taken for one of a question",
    file: "services/delivery.ts",
    find: 'if (facts.kind !== "message" && facts.chat !== null && facts.message !== null) {',
    replace: 'if (facts.kind !== "message" && facts.chat !== null && facts.message !== null && !isPress) {',
    tries: [unit("wire/choosers", "agent's own button")],
  },
  {
    name: "what waited behind something that is gone goes on waiting",
    file: "services/hand.ts",
    find: 'if (first?.choice === "behind")',
    replace: 'if (first?.choice === "asked")',
    tries: [unit("wire/hand", "looks anew"), unit("wire/choosers", "an edit goes where")],
  },
  {
    name: "a question that somebody was promised ends while nobody is there",
    file: chart,
    find: 'after: { showInterval: "choosing" }',
    replace: 'after: { showInterval: "done" }',
    tries: [unit("machines/reroute.machine", "OP-41")],
  },
  {
    name: "whoever writes outside every thread is told so each time",
    file: "services/outside.ts",
    find: "nowMs - this.toldAtMs < outsideToldEveryMs",
    replace: "nowMs - this.toldAtMs < 0 * outsideToldEveryMs",
    tries: [unit("wire/choosers", "T-54")],
  },
  {
    name: "a thread is given to an agent that refused it",
    file: "services/follower-links.ts",
    find: 'if (outcome.ack.ok) return { kind: "told" };',
    replace: 'if (outcome.ack.ok || seat !== "") return { kind: "told" };',
    tries: [unit("wire/choosers", "T-53")],
  },
  {
    name: "a thread whose giving had an unknown outcome may be given to another agent",
    file: chart,
    find: 'pausing: { after: { retryInterval: "giving" } }',
    replace: 'pausing: { after: { retryInterval: "#reroute.choosing" } }',
    tries: [unit("machines/reroute.machine", "given the thread again")],
  },
];
