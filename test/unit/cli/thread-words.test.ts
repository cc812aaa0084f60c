/** What the operator reads of each thread: its state, the last reason, what to do about it. */
import { expect, it } from "vitest";
import { explainSeat, explainThread, threadLines, withExplanations } from "../../../cli/thread-words.ts";
import type { LineStatus } from "../../../index.ts";
import { seatKey } from "../../../machines/ids.ts";

const nowMs = 1_000_000_000;
const seat = seatKey("manual:own:fa");
type Thread = LineStatus["threads"][number];
type Seat = LineStatus["seats"][number];

const thread = (differs: Partial<Thread> = {}): Thread => ({
  chatId: 5,
  threadId: 7,
  slot: "A",
  name: "fa",
  seat,
  createdAtMs: nowMs - 7_200_000,
  state: "open",
  reason: "made: its seat had none",
  provenAtMs: nowMs - 180_000,
  deletion: null,
  ...differs,
});
const sits = (differs: Partial<Seat> = {}): Seat => ({
  seat,
  role: "follower",
  instanceId: null,
  pid: 1,
  process: "alive",
  ended: null,
  endedAtMs: null,
  unprovable: null,
  registeredAtMs: 0,
  ...differs,
});
// The words read nothing else of a status.
const status = (differs: Partial<LineStatus> = {}): LineStatus =>
  ({ seats: [sits()], threads: [thread()], leftovers: [], creations: [], ...differs }) as unknown as LineStatus;
const deletion = (differs: Partial<NonNullable<Thread["deletion"]>>) =>
  thread({ deletion: { reason: "ended", dueAtMs: nowMs + 540_000, attempts: 0, lastReason: null, ...differs } });
const gone = sits({ role: "nobody", process: null, ended: "died", endedAtMs: nowMs - 60_000 });
const nobody = { seats: [gone] };
const shown = "as last known: made: its seat had none; Telegram last showed it 3 min ago";
const doubted = sits({ process: "unverifiable", unprovable: { sinceMs: nowMs - 240_000, reason: "another host" } });
const doubt =
  "its process can be proven neither alive nor dead for 4 min (another host) (partyline seats forget manual:own:fa)";

it.each([
  [`in use, ${shown}`, thread(), {}],
  [
    "in use, as last known: its seat has it for 120 min; Telegram last showed it 3 min ago",
    thread({ reason: "" }), // of a store from before reasons were kept
    {},
  ],
  [`nobody sits on its seat, ${shown}`, thread(), nobody],
  [`nobody sits on its seat, ${shown}`, thread(), { seats: [] }],
  [`${doubt}; made: its seat had none; Telegram last showed it 3 min ago`, thread(), { seats: [doubted] }],
  [
    "closed in Telegram (the user closed it): what goes there waits until it is reopened",
    thread({ state: "closed", reason: "the user closed it" }),
    {},
  ],
  [
    "in doubt (adopted by the operator): it is proven to exist before it is used again",
    thread({ state: "suspect", reason: "adopted by the operator" }),
    {},
  ],
  ["its instance is gone: deleted in 9 min, unless one comes back under its seat", deletion({}), nobody],
  ["its instance gave it up: deleted now", deletion({ reason: "left", dueAtMs: nowMs }), nobody],
  [
    "an operator gave it up: deleted in 90 s; attempt 3 failed: Too Many Requests",
    deletion({ reason: "operator", dueAtMs: nowMs + 90_000, attempts: 3, lastReason: "Too Many Requests" }),
    nobody,
  ],
] as const)("threads/OP-39: an operator reads: %s", (words, of, differs) => {
  expect(explainThread(of, status(differs), nowMs)).toBe(words);
});

it.each([
  ["one in use", null, sits(), {}],
  [
    "a dead process",
    "its process is gone: the leader ends it as soon as it has seen that",
    sits({ process: "dead" }),
    {},
  ],
  ["a process in doubt", doubt, doubted, {}],
  [
    "one that ended, with its thread's grace time",
    "its process died 60 s ago; its thread: its instance is gone: deleted in 9 min, unless one comes back under its seat",
    gone,
    { threads: [deletion({})] },
  ],
  [
    "one that ended and whose thread stays",
    "its process died 60 s ago; its thread is kept for it (partyline leave manual:own:fa gives it up)",
    gone,
    {},
  ],
  [
    "one that is over",
    "it left 60 s ago: nothing of it is left but its name, for whoever takes it again",
    { ...gone, ended: "left" },
    { threads: [] },
  ],
] as const)("says how a seat leaves: %s", (_, words, of, differs) => {
  expect(explainSeat(of, status(differs), nowMs)).toBe(words);
});

const doubtful = status({
  threads: [],
  leftovers: [{ chatId: 5, threadId: 8, name: "old", seat: null, reason: "replaced by thread 9" }],
  creations: (["inFlight", "ambiguous", "unwanted"] as const).map((state) => ({
    seat,
    chatId: 5,
    name: state,
    status: state,
    startedAtMs: nowMs - 240_000,
  })),
});

it("tells of leftovers and of creations in doubt what decides about them", () => {
  expect(threadLines(doubtful, nowMs)).toEqual([
    expect.stringMatching(/8 .* left over: replaced by thread 9; nothing deletes it but you .*release 8/),
    expect.stringMatching(/inFlight .* being made, begun 4 min ago$/),
    expect.stringMatching(
      /ambiguous .* begun 4 min ago, and Telegram did not say .* adopt manual:own:fa THREAD, or forget/,
    ),
    expect.stringMatching(/unwanted .* for an instance that has left: deleted if it shows up$/),
  ]);
});

it("gives programs the same words with the facts", () => {
  const { threads, leftovers, creations } = withExplanations(status({ ...doubtful, threads: [thread()] }), nowMs);
  expect(threads).toEqual([{ ...thread(), explanation: `in use, ${shown}` }]);
  expect([...leftovers, ...creations].every(({ explanation }) => explanation.length > 10)).toBe(true);
});
