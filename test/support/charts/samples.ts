/** Values that tests of charts and rules share: two instances, their leases, threads and updates. */
import {
  chatId,
  epoch,
  generation,
  instanceId,
  messageId,
  seatKey,
  threadId,
  updateId,
} from "../../../machines/ids.ts";
import type { BoundThread, Incarnation } from "../../../machines/ids.ts";
import type { Dialect, Leader, LeaseHolder, LeaseRecord } from "../../../machines/lease.rules.ts";
import type { Follower } from "../../../machines/registration.machine.ts";
import type { HeldBinding, ThreadView } from "../../../machines/threads.rules.ts";
import type { UpdateFacts } from "../../../machines/updates.rules.ts";

export const me = instanceId("100:1");
export const rival = instanceId("200:2");
export const mySeat = seatKey("manual:profile:one");
export const chat = chatId(-1001);
export const person = 42;

export const incarnation: Incarnation = {
  bootId: "boot",
  pidNamespace: "4026531836",
  pid: 200,
  startTicks: "90210",
  counter: 1,
};

export const holder = (id = rival): LeaseHolder => ({
  instanceId: id,
  incarnation,
  endpoint: "/run/leader.sock",
  secret: "secret",
});

/** That instance as its followers see it. */
export const leader = (dialect: Dialect = "own"): Leader => ({ ...holder(), dialect });

/** A lease as read: of `rival`, in its third epoch, with four seconds left, unless told otherwise. */
export const record = (differs: Partial<LeaseRecord> = {}): LeaseRecord => ({
  epoch: epoch(3),
  renewals: 7,
  holder: holder(),
  remainingMs: 4_000,
  ...differs,
});

export const thread = (id = 5, slot = "A", threadName = "Amber"): BoundThread => ({
  target: { chatId: chat, threadId: threadId(id) },
  slot,
  threadName,
});

/** What provisioning says of a thread that is as it was. */
export const reused = (has = thread()) => ({ kind: "bound", thread: has, origin: "reused" }) as const;

/** A view of threads with nothing in it. */
export const noThreads: ThreadView = { bindings: [], provisions: [], lost: [], leftovers: [] };

/** The seat's binding of a thread, on which `me` registered last, unless told otherwise. */
export const bound = (differs: Partial<HeldBinding> = {}): HeldBinding => ({
  seat: mySeat,
  thread: thread(),
  createdAtMs: 0,
  standing: "open",
  reason: "",
  provenAtMs: 0,
  holder: me,
  ...differs,
});

export const follower = (gen = "g1", id = rival): Follower => ({
  instanceId: id,
  generation: generation(gen),
  incarnation,
  endpoint: "/run/follower.sock",
  threadName: null,
  carried: null,
  previous: null,
  capabilities: [],
});

/** A message of the person the line serves, in thread 5. */
export const facts = (differs: Partial<UpdateFacts> = {}): UpdateFacts => ({
  updateId: updateId(11),
  kind: "message",
  routed: "message",
  chat,
  thread: threadId(5),
  message: messageId(77),
  user: person,
  isTopicService: false,
  isChatMove: false,
  ...differs,
});
