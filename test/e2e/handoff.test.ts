/** Waiting work moves between live instances: real sockets, one SQLite file, every direction. */
import { expect, test } from "vitest";
import type { Instance, InstanceOptions, LineWork, QueuedItem } from "../../index.ts";
import { threadOf, useInstances } from "../support/line/use-instances.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const { control, create, say, status } = useInstances();
const open = useLines();

interface Worker {
  readonly instance: Instance;
  readonly threadId: number;
  /** Texts of the turns that it ran, each with what it was. */
  readonly ran: string[];
  readonly waiting: () => readonly string[];
}

/** An instance that works in turns and acks each one. */
async function worker(name: string, more: Partial<InstanceOptions> = {}): Promise<Worker> {
  const instance = await create({ name, host: "turns", ack: "explicit", ...more });
  const ran: string[] = [];
  instance.on("turn", async (turn) => {
    ran.push(`${turn.kind} ${turn.text}${turn.redelivered ? ", again" : ""}`);
    await turn.ack();
  });
  const texts = (items: readonly QueuedItem[]): readonly string[] => items.map(({ text }) => text);
  return { instance, threadId: await threadOf(instance), ran, waiting: () => texts(instance.queue.list()) };
}

/** Texts put into a worker's thread that wait there. */
async function waits(at: Worker, texts: readonly string[]): Promise<() => void> {
  const release = at.instance.queue.hold();
  for (const [index, text] of texts.entries()) {
    say(at.threadId, text);
    // One after the other: nothing of it is taken for parts of one text.
    await until(`${text} waits`, () => at.instance.queue.list().filter(isWhole).length === index + 1);
  }
  return release;
}

const messageOf = (text: string): number =>
  control()
    .messages()
    .find((each) => each.text === text)?.messageId ?? 0;
const isWhole = ({ standing }: QueuedItem): boolean => standing !== "gathering";
const idOf = (at: Worker, text: string): string =>
  at.instance.queue.list().find((each) => each.text === text)?.id ?? "none";
const nothingIsLeft = async (): Promise<void> => {
  await until("the journal is empty", async () => {
    const { journal } = await status();
    return journal.waiting + journal.claimed === 0;
  });
  expect((await status()).journal.deadLetters).toBe(0);
};

test.each([
  ["leader", "follower"],
  ["follower", "follower"],
  ["follower", "leader"],
] as const)(
  "updates/Q-47, OP-1, OP-10: work moves from a %s to a %s, runs there once, and never at the donor",
  async (...roles) => {
    const first = await worker("first");
    const second = await worker("second");
    const third = await worker("third");
    const [donor, recipient] =
      roles[0] === "leader" ? [first, second] : roles[1] === "leader" ? [second, first] : [second, third];
    expect([donor.instance.role, recipient.instance.role]).toEqual(roles);
    const release = await waits(donor, ["one", "two", "three"]);

    const outcome = await donor.instance.queue.offer(idOf(donor, "two"), { threadId: recipient.threadId });
    expect(outcome).toEqual({ kind: "transferred" });
    expect(donor.waiting()).toEqual(["one", "three"]);
    await until("the recipient ran it", () => recipient.ran.length > 0);
    release();
    await until("the donor ran the rest", () => donor.ran.length === 2);
    await nothingIsLeft();
    expect([donor.ran, recipient.ran]).toEqual([["prompt one", "prompt three"], ["prompt two"]]);
  },
);

test("updates/OP-11: what has come by a handoff can go on, and come back to where it was", async () => {
  const first = await worker("first");
  const second = await worker("second");
  const holds = [await waits(first, ["travels", "stays"]), second.instance.queue.hold()];
  const hop = async (from: Worker, to: Worker): Promise<void> => {
    await until("it waits there", () => from.waiting().includes("travels"));
    const outcome = await from.instance.queue.offer(idOf(from, "travels"), {
      threadName: to === first ? "FIRST" : "second",
    });
    expect(outcome).toEqual({ kind: "transferred" });
  };
  await hop(first, second);
  await hop(second, first);
  await hop(first, second);
  await hop(second, first);
  // It is the last one now: a move goes to the tail.
  await until("it is back", () => first.waiting().length === 2);
  expect(first.waiting()).toEqual(["stays", "travels"]);
  for (const release of holds) release();
  await until("both ran", () => first.ran.length === 2);
  await nothingIsLeft();
  expect([first.ran, second.ran]).toEqual([["prompt stays", "prompt travels"], []]);
});

test("updates/T-95, T-96, OP-8: a command and a skipped prompt move as what they are", async () => {
  const first = await worker("first");
  const second = await worker("second");
  const holds = [await waits(first, ["skip me", "/compact"]), second.instance.queue.hold()];
  const [command, skipped] = [idOf(first, "/compact"), idOf(first, "skip me")];
  const react = (emoji: string): void => void control().userReacts({ messageId: messageOf("skip me"), emoji });
  react("👎");
  await until("it is skipped", () => first.instance.queue.list().some(({ isSkipped }) => isSkipped));
  for (const id of [skipped, command])
    expect(await first.instance.queue.offer(id, { threadId: second.threadId })).toEqual({ kind: "transferred" });
  await until("both wait there", () => second.waiting().length === 2);
  expect(second.instance.queue.list()).toMatchObject([
    { id: command, kind: "control", lane: "control", isSkipped: false },
    { id: skipped, kind: "prompt", lane: "default", isSkipped: true },
  ]);
  // Whoever has the message gets what is done to it.
  react("👍");
  await until("the reaction has found it", () => second.instance.queue.list().some(({ lane }) => lane === "priority"));
  for (const release of holds) release();
  await until("both ran", () => second.ran.length === 2);
  await nothingIsLeft();
  expect([first.ran, second.ran]).toEqual([[], ["control /compact", "prompt skip me"]]);
});

test("updates/OP-7, T-94, Q-53: what runs, what has history, and what would go to oneself stays", async () => {
  const first = await worker("first");
  const second = await worker("second");
  const release = await waits(first, ["one"]);
  const offer = async (id: string, threadId = second.threadId): Promise<string> => {
    const outcome = await first.instance.queue.offer(id, { threadId });
    return outcome.kind === "kept" ? outcome.reason : outcome.kind;
  };
  expect(await offer("999")).toMatch(/not waiting/);
  expect(await offer(idOf(first, "one"), first.threadId)).toMatch(/no other agent/);
  expect(await offer(idOf(first, "one"), 999_999)).toMatch(/no other agent/);
  let end: () => void = () => undefined;
  const whenEnded = new Promise<void>((resolve) => (end = resolve));
  first.instance.on("turn", () => whenEnded);
  release();
  await until("it runs", () => first.instance.queue.list()[0]?.standing === "running");
  expect(await offer(idOf(first, "one"))).toMatch(/not waiting/);
  // After an abort the next prompt absorbs what waits.
  say(first.threadId, "two");
  await until("the next one waits", () => first.waiting().join() === "one,two");
  first.instance.queue.abort();
  const hold = first.instance.queue.hold();
  end();
  say(first.threadId, "three");
  await until(
    "they are one",
    () =>
      first.instance.queue
        .list()
        .filter(isWhole)
        .map(({ text }) => text)
        .join() === "three",
  );
  expect(await offer(idOf(first, "three"))).toMatch(/folded/);
  hold();
  await until("it ran", () => first.ran.includes("prompt three"));
  await nothingIsLeft();
  expect(second.ran).toEqual([]);
});

test("updates/Q-44, T-97: a donor that stops with an offer out leaves its work to its seat", async () => {
  const first = await worker("first");
  const second = await worker("second", { host: "turns" });
  await waits(second, ["left behind"]);
  // Its seat is claimed, and nobody looks for offers there any more.
  const outcome = second.instance.queue.offer(idOf(second, "left behind"), { threadId: first.threadId });
  await second.instance.stop();
  await outcome;
  const again = await worker("second");
  await until("somebody ran it", () => [...first.ran, ...again.ran].length > 0);
  await nothingIsLeft();
  expect([...first.ran, ...again.ran]).toHaveLength(1);
});

test("partyline queue lists what is open, moves what waits, and leaves alone what is worked on", async () => {
  const line = await open();
  const keeps = { onUpdate: () => undefined };
  const [first, second] = await line.startAll(["first", "second"], keeps);
  line.say(first!.threadId, "in hand");
  await until("it is given", () => first!.updates.length === 1);
  const { seat } = (await line.status()).seats.find(({ pid }) => pid === second!.pid) ?? { seat: "none" };
  const queue = async (...args: string[]): Promise<string> => {
    const { exit, output } = await line.run(["queue", ...args]);
    return `${String(exit?.code)} ${output}`;
  };
  expect(await queue()).toMatch(
    new RegExp(`^0 [^]*\\d+ +${String(first!.threadId)} +\\d+ s +in hand of manual:\\S+:first +in hand`, "m"),
  );
  const { queue: works } = JSON.parse((await queue("list", "--json")).slice(2)) as {
    readonly queue: readonly LineWork[];
  };
  expect(works).toMatchObject([{ threadId: first!.threadId, isOffered: false, movedTo: null, text: "in hand" }]);
  const { id } = works[0]!;
  // It is in a handler's hand: it stays there.
  expect(await queue("offer", id, "second", "--wait", "1")).toMatch(/^1 [^]*has not given update/);
  expect(await queue("cancel", id)).toMatch(/^1 [^]*not on its way/);
  expect(await queue("offer", "999", seat)).toMatch(/^1 [^]*no update 999/);
  expect(await queue("offer", id, "nobody-here")).toMatch(/^2 [^]*no seat "nobody-here"/);
  expect(await queue("offer", "seven", seat)).toMatch(/^2 [^]*no update of the queue/);
  // What is in nobody's hand moves at once, here from a seat whose process has gone.
  await first!.kill();
  await until(
    "it is in nobody's hand",
    async () => (await queue()).includes("in the journal") || second!.updates.length > 0,
  );
  expect(await queue("offer", id, "second")).toMatch(/^0 [^]*has moved/);
  await until("the other one has it", () => second!.updates.length === 1);
  second!.ack(second!.updates[0]!.id);
  await line.settled([second!.updates[0]!.update.update_id]);
});
