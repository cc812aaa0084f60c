/** The demo's scripted round against a line that keeps its promises, and against lines that break one each. */
import { expect, test } from "vitest";
import type { AgentState } from "../../../cli/demo-agents.ts";
import { playRound } from "../../../cli/demo-round.ts";
import { ManualClock } from "../../support/wire/manual-clock.ts";

const names = ["Amber", "Birch", "Cedar"];
const graceMs = 400;
const slowMs = 20;

/** What a line does wrong. */
type Fault =
  | "a second poller"
  | "the answers to what was written meanwhile come twice"
  | "the restarted one gets another thread"
  | "the restarted one says its old thread and answers in another"
  | "the restarted one loses its thread at the end of the first grace time"
  | "a deleted thread is not replaced"
  | "a deleted thread is replaced twice"
  | "a deleted thread is replaced a second time later"
  | "the answer is in the replacement twice"
  | "the answer is in the main chat"
  | "the answer waits for the replacement"
  | "the replacement is not answered in"
  | "a thread is deleted with its process"
  | "a thread is deleted early"
  | "a thread is never deleted"
  | "all threads are deleted after the grace time"
  | "one that is gone gets a new thread"
  | "an answer comes again late";

interface Thread {
  readonly threadId: number;
  readonly name: string;
  status: "open" | "deleted";
}

/** Three instances and their chat, as far as the round looks at them. */
class Line {
  readonly clock = new ManualClock();
  readonly printed: string[] = [];
  private readonly fault: Fault | null;
  private readonly threads: Thread[] = [];
  private readonly sent: { text: string; threadId: number | null; from: { isBot: boolean } }[] = [];
  private readonly calls: { payload: Record<string, unknown> }[] = [];
  private readonly states = new Map<string, AgentState>();
  private readonly threadOf = new Map<string, number>();
  private readonly waiting = new Map<string, string[]>();
  private readonly restarted = new Set<string>();
  private pid = 100;

  constructor(fault: Fault | null) {
    this.fault = fault;
    for (const name of names) this.join(name, { role: name === "Amber" ? "leader" : "follower", epoch: 1 });
  }

  async play(): Promise<number> {
    const { clock, chat } = this;
    const print = (line: string): void => void this.printed.push(line);
    const round: { isOver: boolean } = { isOver: false };
    const times = { clock, graceMs, waitMaxMs: 3 * graceMs };
    const played = playRound({ chat, agents: this.agents, names, print, ...times }).finally(
      () => (round.isOver = true),
    );
    while (!round.isOver) await clock.advance(slowMs);
    return played;
  }

  private readonly agents = {
    all: () => [...this.states.values()],
    state: (name: string) => this.states.get(name) ?? null,
    start: (name: string) => {
      this.restarted.add(name);
      if (this.is("the restarted one gets another thread")) this.threadOf.delete(name);
      this.join(name, { role: "follower", epoch: 2 });
      if (this.is("the restarted one says its old thread and answers in another"))
        this.threadOf.set(name, this.makeThread(name));
      for (const text of this.waiting.get(name) ?? []) this.answer(name, text);
      this.waiting.delete(name);
    },
    kill: (name: string) => {
      const { role } = this.states.get(name)!;
      this.states.delete(name);
      if (role === "leader") this.states.set("Birch", { ...this.states.get("Birch")!, role: "leader", epoch: 2 });
      this.endGrace(name, role);
    },
  };

  private readonly chat = {
    state: () => ({
      lastSeq: this.calls.length,
      threads: this.threads,
      polls: { conflicts409: this.is("a second poller") ? 1 : 0 },
    }),
    messages: () => this.sent,
    transcript: ({ since }: { since: number }) => this.calls.slice(since),
    userSends: ({ threadId, text }: { threadId: number; text: string }) => {
      const name = names.find((each) => this.threadOf.get(each) === threadId)!;
      if (!this.states.has(name)) this.waiting.set(name, [...(this.waiting.get(name) ?? []), text]);
      else
        this.later(slowMs, () => {
          this.answer(name, text);
        });
    },
    userDeletesThread: ({ threadId }: { threadId: number }) => {
      this.deleteThread(threadId);
    },
  };

  private is(fault: Fault): boolean {
    return this.fault === fault;
  }

  private later(delayMs: number, fn: () => void): void {
    this.clock.setTimeout(fn, delayMs);
  }

  private join(name: string, as: { role: string; epoch: number }): void {
    const threadId = this.threadOf.get(name) ?? this.makeThread(name);
    this.threadOf.set(name, threadId);
    this.states.set(name, { name, pid: (this.pid += 1), threadId, ...as });
  }

  private makeThread(name: string): number {
    const threadId = 10 + this.threads.length;
    this.threads.push({ threadId, name, status: "open" });
    return threadId;
  }

  private deleteThread(threadId: number | undefined): void {
    for (const thread of this.threads) if (thread.threadId === threadId) thread.status = "deleted";
  }

  private endGrace(name: string, role: string): void {
    const isLost = (): boolean => !this.states.has(name) || this.restartedLoses(name);
    const until = { "a thread is deleted with its process": 0, "a thread is deleted early": graceMs - 100 };
    const fault = this.fault ?? "";
    const delayMs = role !== "leader" && fault in until ? until[fault as keyof typeof until] : graceMs;
    this.later(delayMs, () => {
      if (!isLost() || this.is("a thread is never deleted")) return;
      this.deleteThread(this.threadOf.get(name));
      if (this.is("all threads are deleted after the grace time"))
        for (const each of this.threads) each.status = "deleted";
      if (this.is("one that is gone gets a new thread")) this.makeThread(name);
    });
  }

  private restartedLoses(name: string): boolean {
    return this.restarted.has(name) && this.is("the restarted one loses its thread at the end of the first grace time");
  }

  private answer(name: string, text: string): void {
    const threadId = this.threadOf.get(name)!;
    if (this.threads.some((each) => each.threadId === threadId && each.status === "deleted")) {
      this.answerAnew(name, text);
      return;
    }
    if (text === "and here?" && this.is("the replacement is not answered in")) return;
    this.send(threadId, `${name}: ${text}`);
    if (text.startsWith("still") && this.is("the answers to what was written meanwhile come twice"))
      this.send(threadId, `${name}: ${text}`);
    if (text.startsWith("hello") && this.is("an answer comes again late"))
      this.later(graceMs, () => {
        this.send(threadId, `${name}: ${text}`);
      });
  }

  private answerAnew(name: string, text: string): void {
    if (this.is("a deleted thread is not replaced")) return;
    if (!this.is("the answer waits for the replacement"))
      this.calls.push({ payload: { message_thread_id: this.threadOf.get(name) } });
    const threadId = this.makeThread(name);
    this.threadOf.set(name, threadId);
    if (this.is("a deleted thread is replaced twice")) this.makeThread(name);
    if (this.is("a deleted thread is replaced a second time later"))
      this.later(graceMs / 2, () => {
        this.makeThread(name);
      });
    const answer = `${name}: ${text}`;
    this.send(this.is("the answer is in the main chat") ? null : threadId, answer);
    if (this.is("the answer is in the replacement twice")) this.send(threadId, answer);
  }

  private send(threadId: number | null, text: string): void {
    this.calls.push({ payload: { message_thread_id: threadId } });
    this.sent.push({ text, threadId, from: { isBot: true } });
  }
}

/** The checks of a round without their times. */
const checksOf = (line: Line): string[] =>
  line.printed.filter((each) => !each.startsWith("        ")).map((each) => each.replace(/ \((\d+ ms|never)\)/, ""));

test("a line that keeps its promises holds, and every check of the script is made", async () => {
  const line = new Line(null);
  expect(await line.play()).toBe(0);
  expect(checksOf(line)).toEqual([
    "  ok    3 instances are on the line",
    "  ok    each has a thread of its own",
    "  ok    one leads",
    "  ok    each thread is answered",
    "  ok    another leads: Birch, epoch 2",
    "  ok    the others answer what was written meanwhile",
    "  ok    Amber comes back and answers what waited for it",
    "  ok    Amber has its old thread, and no other was made",
    "  ok    every message has exactly one answer, in its own thread",
    "  ok    its answer was on its way into the deleted thread",
    "  ok    a thread deleted mid-answer yields one replacement with the answer in it",
    "  ok    that answer is there once",
    "  ok    what is written into the replacement is answered there",
    "  ok    Cedar has its thread when it is killed",
    "  ok    its thread is not deleted before its grace time",
    "  ok    it is deleted after that",
    "  ok    the other threads stay, and there are no more",
    "  ok    those left answer in them",
    "  ok    no answer came twice, to the end",
    "  ok    one thread was made beside the first ones, to the end",
    "  ok    Telegram saw no second poller",
  ]);
});

const caught: Readonly<Record<Fault, string>> = {
  "a second poller": "Telegram saw no second poller",
  "the answers to what was written meanwhile come twice": "every message has exactly one answer, in its own thread",
  "the restarted one gets another thread": "Amber has its old thread, and no other was made",
  "the restarted one says its old thread and answers in another": "Amber has its old thread, and no other was made",
  "the restarted one loses its thread at the end of the first grace time":
    "the other threads stay, and there are no more",
  "a deleted thread is not replaced": "a thread deleted mid-answer yields one replacement with the answer in it",
  "a deleted thread is replaced twice": "a thread deleted mid-answer yields one replacement with the answer in it",
  "a deleted thread is replaced a second time later": "one thread was made beside the first ones, to the end",
  "the answer is in the replacement twice": "that answer is there once",
  "the answer is in the main chat": "that answer is there once",
  "the answer waits for the replacement": "its answer was on its way into the deleted thread",
  "the replacement is not answered in": "what is written into the replacement is answered there",
  "a thread is deleted with its process": "its thread is not deleted before its grace time",
  "a thread is deleted early": "its thread is not deleted before its grace time",
  "a thread is never deleted": "it is deleted after that",
  "all threads are deleted after the grace time": "the other threads stay, and there are no more",
  "one that is gone gets a new thread": "the other threads stay, and there are no more",
  "an answer comes again late": "no answer came twice, to the end",
};

// The keys are the faults: an object's keys are strings to the compiler.
test.each(Object.keys(caught) as Fault[])("a round does not hold when %s", async (fault) => {
  const line = new Line(fault);
  expect(await line.play()).toBeGreaterThan(0);
  expect(checksOf(line)).toContain(`FAILED  ${caught[fault]}`);
});
