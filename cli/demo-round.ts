/**
 * The demo's scripted round: three threads answer, the leader is killed the hard way and comes back into its thread, a thread
 * is deleted mid-answer, one instance is killed for good; nothing is lost or doubled.
 *
 * Owns: the script and its checks, printed one a line. Each wait has a ceiling and reports the measured time.
 * Invariants: a round holds only if every check of the script was made and held; what cannot be played counts as not held.
 */
import type { EmulatorControl } from "../adapters/telegram/emulator/index.ts";
import type { Clock } from "../services/ports.ts";
import type { AgentState } from "./demo-agents.ts";

const lookMs = 5;
/** The grace time is counted on another clock than ours: it may be slewed, and each is exact to a step only. */
const clockSlackMs = 50;

/** The instances of the round. */
export interface Players {
  all(): readonly AgentState[];
  state(name: string): AgentState | null;
  start(name: string): void;
  /** Ends it the hard way; it does not get to say goodbye. */
  kill(name: string): void;
}

type State = ReturnType<EmulatorControl["state"]>;
type Message = ReturnType<EmulatorControl["messages"]>[number];

/** The user's side of Telegram. */
export interface Chat {
  state(): Pick<State, "lastSeq"> & {
    readonly threads: readonly Pick<State["threads"][number], "threadId" | "name" | "status">[];
    readonly polls: Pick<State["polls"], "conflicts409">;
  };
  messages(): readonly (Pick<Message, "text" | "threadId"> & { readonly from: { readonly isBot: boolean } })[];
  /** Calls of the bot since then. */
  transcript(input: { readonly since: number }): readonly { readonly payload: Readonly<Record<string, unknown>> }[];
  userSends(input: { readonly threadId: number; readonly text: string }): unknown;
  userDeletesThread(input: { readonly threadId: number }): void;
}

export interface Round {
  readonly clock: Pick<Clock, "elapsedMs" | "setTimeout">;
  readonly chat: Chat;
  readonly agents: Players;
  readonly names: readonly string[];
  readonly print: (line: string) => void;
  /** How long a thread outlives its process. */
  readonly graceMs: number;
  /** What has not come after so long does not come. */
  readonly waitMaxMs: number;
}

const inMs = (value: number): string => (Number.isFinite(value) ? `${value.toFixed(0)} ms` : "never");

/** Runs the round; resolves with the number of checks that did not hold. */
export async function playRound(round: Round): Promise<number> {
  const script = new Script(round);
  await script.play();
  return script.failed;
}

class Script {
  /** Counted as the checks are made: read it when the script is at its end. */
  failed = 0;
  private readonly round: Round;
  private readonly threadOf = new Map<string, number>();
  /** Every text that was written, by the instance that it was for. */
  private readonly written: { readonly name: string; readonly text: string }[] = [];
  /** The one that was killed counts no more, whether or not its end has been noticed yet. */
  private killed: AgentState | null = null;

  constructor(round: Round) {
    this.round = round;
  }

  async play(): Promise<void> {
    if (!(await this.begin())) return;
    const leader = await this.loseLeader();
    await this.comeBack(leader);
    const renewed = await this.loseThread();
    await this.loseForGood([leader.name, renewed]);
    this.end();
  }

  /** Everybody is there and answers; without that there is nothing to play. */
  private async begin(): Promise<boolean> {
    const { agents, names } = this.round;
    const isReady = (): boolean => agents.all().filter((each) => each.threadId !== null).length === names.length;
    const startedIn = await this.until(isReady);
    this.check(`${String(names.length)} instances are on the line (${inMs(startedIn)})`, isReady());
    for (const { name, threadId } of agents.all()) if (threadId !== null) this.threadOf.set(name, threadId);
    this.check("each has a thread of its own", this.hasThreadsOf(names));
    this.check("one leads", this.leaders().length === 1);
    if (this.failed > 0) return false;

    for (const name of names) this.say(name, `hello ${name}`);
    const answeredIn = await this.until(() => names.every((name) => this.isAnswered(`hello ${name}`)));
    this.check(
      `each thread is answered (${inMs(answeredIn)})`,
      names.every((name) => this.isAnsweredOnce(name, `hello ${name}`)),
    );
    return this.failed === 0;
  }

  /** The leader is killed; the others go on. */
  private async loseLeader(): Promise<AgentState> {
    const { agents, names } = this.round;
    const [leader] = this.leaders();
    if (leader === undefined) throw new Error("the round has no leader that could be killed");
    this.tell(`kill -9 ${String(leader.pid)}: that was ${leader.name}, the leader of epoch ${String(leader.epoch)}`);
    this.killed = leader;
    agents.kill(leader.name);
    for (const name of names) this.say(name, `still there, ${name}?`);
    const tookOverIn = await this.until(() => this.leaders().some((each) => each.epoch > leader.epoch));
    const [successor] = this.leaders();
    this.check(
      `another leads (${inMs(tookOverIn)}): ${successor?.name ?? "nobody"}, epoch ${String(successor?.epoch)}`,
      Number.isFinite(tookOverIn) && this.leaders().length === 1,
    );
    const others = names.filter((name) => name !== leader.name);
    const survivedIn = await this.until(() => others.every((name) => this.isAnswered(`still there, ${name}?`)));
    this.check(`the others answer what was written meanwhile (${inMs(survivedIn)})`, Number.isFinite(survivedIn));
    return leader;
  }

  /** Started again, it has the thread that it had, and no other was made. */
  private async comeBack({ name, pid }: AgentState): Promise<void> {
    const { agents, chat, names } = this.round;
    agents.start(name);
    const answeredIn = await this.until(() => this.isAnswered(`still there, ${name}?`));
    this.check(`${name} comes back and answers what waited for it (${inMs(answeredIn)})`, Number.isFinite(answeredIn));
    const successor = (): AgentState | null => {
      const state = agents.state(name);
      return state === null || state.pid === pid || state.threadId === null ? null : state;
    };
    await this.until(() => successor() !== null);
    this.check(
      `${name} has its old thread, and no other was made`,
      successor()?.threadId === this.threadOf.get(name) && chat.state().threads.length === names.length,
    );
    this.check(
      "every message has exactly one answer, in its own thread",
      names.every((each) => this.isAnsweredOnce(each, `still there, ${each}?`)),
    );
  }

  /** The user deletes a thread while its instance answers: one replacement, with the answer in it. */
  private async loseThread(): Promise<string> {
    const { chat, names } = this.round;
    const [name] = names.slice(-1);
    const old = name === undefined ? undefined : this.threadOf.get(name);
    if (name === undefined || old === undefined) throw new Error("the round has no thread that could be deleted");
    const { threads, lastSeq } = chat.state();
    const known = new Set(threads.map(({ threadId }) => threadId));
    const text = "do not lose this";
    this.tell(`the user writes to ${name} and deletes its thread before the answer`);
    this.say(name, text);
    chat.userDeletesThread({ threadId: old });
    const answeredIn = await this.until(() => this.isAnswered(text));
    const made = chat.state().threads.filter(({ threadId }) => !known.has(threadId));
    const [only] = made;
    if (only !== undefined) this.threadOf.set(name, only.threadId);
    this.check(
      "its answer was on its way into the deleted thread",
      chat.transcript({ since: lastSeq }).some(({ payload }) => String(payload["message_thread_id"]) === String(old)),
    );
    this.check(
      `a thread deleted mid-answer yields one replacement with the answer in it (${inMs(answeredIn)})`,
      made.length === 1 && only?.name === threads.find(({ threadId }) => threadId === old)?.name,
    );
    this.check("that answer is there once", only !== undefined && this.isAnsweredOnce(name, text));
    const again = "and here?";
    if (only !== undefined) this.say(name, again);
    const usedIn = await this.until(() => this.isAnswered(again));
    this.check(
      `what is written into the replacement is answered there (${inMs(usedIn)})`,
      this.isAnsweredOnce(name, again),
    );
    return name;
  }

  /**
   * One that is killed for good loses its thread after its grace time, and not before. Not one of `spared`, if there is a
   * choice: that a thread is kept for good shows only in the time after.
   */
  private async loseForGood(spared: readonly string[]): Promise<void> {
    const { agents, names, graceMs } = this.round;
    const followers = names.filter((name) => !this.leaders().some((each) => each.name === name));
    const gone = followers.find((name) => !spared.includes(name)) ?? followers.find((name) => name !== spared[0]);
    if (gone === undefined) throw new Error("the round has no follower that could be killed");
    const threadId = this.threadOf.get(gone);
    const hasThread = (): boolean => this.openThreads().some((each) => each === threadId);
    this.check(`${gone} has its thread when it is killed`, hasThread());
    this.tell(`kill -9 of ${gone}, for good: its thread outlives it by ${(graceMs / 1_000).toFixed(0)} s`);
    const killedAt = this.round.clock.elapsedMs();
    agents.kill(gone);
    await this.until(() => !hasThread());
    const goneIn = hasThread() ? Infinity : this.round.clock.elapsedMs() - killedAt;
    this.check(`its thread is not deleted before its grace time (${inMs(goneIn)})`, goneIn >= graceMs - clockSlackMs);
    this.check("it is deleted after that", Number.isFinite(goneIn));
    const left = names.filter((name) => name !== gone);
    this.check("the other threads stay, and there are no more", this.hasThreadsOf(left));
    for (const name of left) this.say(name, `you stay, ${name}?`);
    const answeredIn = await this.until(() => left.every((name) => this.isAnswered(`you stay, ${name}?`)));
    this.check(
      `those left answer in them (${inMs(answeredIn)})`,
      left.every((name) => this.isAnsweredOnce(name, `you stay, ${name}?`)),
    );
  }

  /** What could still have come late. */
  private end(): void {
    const { chat, names } = this.round;
    const { threads, polls } = chat.state();
    const open = new Set(this.openThreads());
    const here = this.written.filter(({ name }) => open.has(this.threadOf.get(name) ?? 0));
    this.check(
      "no answer came twice, to the end",
      here.every(({ text }) => this.answersTo(text).length <= 1),
    );
    this.check("one thread was made beside the first ones, to the end", threads.length === names.length + 1);
    this.check("Telegram saw no second poller", polls.conflicts409 === 0);
  }

  private check(what: string, holds: boolean): void {
    if (!holds) this.failed += 1;
    this.round.print(`${holds ? "  ok  " : "FAILED"}  ${what}`);
  }

  private tell(what: string): void {
    this.round.print(`        ${what}`);
  }

  /** Resolves with how long it took; Infinity = it did not come. */
  private async until(condition: () => boolean): Promise<number> {
    const startedAt = this.round.clock.elapsedMs();
    while (!condition()) {
      if (this.round.clock.elapsedMs() - startedAt > this.round.waitMaxMs) return Infinity;
      await new Promise<void>((resolve) => {
        this.round.clock.setTimeout(resolve, lookMs);
      });
    }
    return this.round.clock.elapsedMs() - startedAt;
  }

  private leaders(): readonly AgentState[] {
    return this.round.agents.all().filter((each) => each.role === "leader" && each.pid !== this.killed?.pid);
  }

  private openThreads(): readonly number[] {
    return this.round.chat
      .state()
      .threads.filter(({ status }) => status !== "deleted")
      .map(({ threadId }) => threadId);
  }

  /** Each of them has its own, and there is no other. */
  private hasThreadsOf(names: readonly string[]): boolean {
    const theirs = new Set(names.map((name) => this.threadOf.get(name)));
    const open = this.openThreads();
    return theirs.size === names.length && open.length === names.length && open.every((each) => theirs.has(each));
  }

  private say(name: string, text: string): void {
    const threadId = this.threadOf.get(name);
    if (threadId === undefined) throw new Error(`${name} has no thread to write into`);
    this.written.push({ name, text });
    this.round.chat.userSends({ threadId, text });
  }

  /** From whomever, wherever. */
  private answersTo(text: string) {
    return this.round.chat.messages().filter((each) => each.from.isBot && each.text.endsWith(`: ${text}`));
  }

  private isAnswered(text: string): boolean {
    return this.answersTo(text).length > 0;
  }

  /** By that instance, in its thread, and nowhere else. */
  private isAnsweredOnce(name: string, text: string): boolean {
    const [only, ...more] = this.answersTo(text);
    return more.length === 0 && only?.text === `${name}: ${text}` && only.threadId === this.threadOf.get(name);
  }
}
