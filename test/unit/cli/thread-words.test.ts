/** What the operator reads of each thread: its state, the last reason, what to do about it. */
import { expect, it } from "vitest";
import { explainThread, threadLines, withExplanations } from "../../../cli/thread-words.ts";
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
  createdAtMs: 0,
  state: "open",
  reason: "",
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
  registeredAtMs: 0,
  ...differs,
});
// The words read nothing else of a status.
const status = (differs: Partial<LineStatus> = {}): LineStatus =>
  ({ seats: [sits()], threads: [thread()], leftovers: [], creations: [], ...differs }) as unknown as LineStatus;
const deletion = (differs: Partial<NonNullable<Thread["deletion"]>>) =>
  thread({ deletion: { reason: "ended", dueAtMs: nowMs + 540_000, attempts: 0, lastReason: null, ...differs } });
const nobody = { seats: [sits({ role: "nobody", process: null, ended: "died" })] };

it.each([
  ["in use", thread(), {}],
  ["kept: nobody sits on its seat", thread(), nobody],
  ["kept: nobody sits on its seat", thread(), { seats: [] }],
  [
    "its process can be proven neither alive nor dead (partyline seats forget manual:own:fa)",
    thread(),
    { seats: [sits({ process: "unverifiable" })] },
  ],
  [
    "closed in Telegram (the user closed it): what goes there waits until it is reopened",
    thread({ state: "closed", reason: "the user closed it" }),
    {},
  ],
  ["in doubt: it is proven to exist before it is used again", thread({ state: "suspect" }), {}],
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
  expect(threads).toEqual([{ ...thread(), explanation: "in use" }]);
  expect([...leftovers, ...creations].every(({ explanation }) => explanation.length > 10)).toBe(true);
});
