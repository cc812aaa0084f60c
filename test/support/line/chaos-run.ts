/**
 * Rounds of `kill -9` on a line of three real processes while messages keep coming.
 *
 * Owns: the rounds and what is measured in them. Does not own: what is acceptable; the caller judges the report.
 *
 * A round: messages flow to all three threads; the leader is killed; another one must lead under a higher epoch; a poll is
 * refused with a 429, its answer lost, or a follower stopped for a while; the
 * killed process is started again under its name; the round is over when all three were given messages sent after that.
 */
import type { Agent } from "./agent.ts";
import { chanceOf } from "./chance.ts";
import { Line } from "./line.ts";
import { Tally } from "./tally.ts";
import type { TallyResult } from "./tally.ts";
import { every, percentile, until, workFor } from "./waiting.ts";

export interface ChaosOptions {
  readonly rounds: number;
  /** Every so many rounds a follower is killed along with the leader; 0 = never. */
  readonly followerEvery: number;
  /** Whether 429s, lost answers and stopped processes come on top of the kills. */
  readonly disturbs: boolean;
  /** Between two messages, in milliseconds. */
  readonly paceMs: number;
  readonly seed: number;
  readonly progress: (line: string) => void;
}

export interface Spread {
  readonly p50: number;
  readonly p99: number;
}

export interface ChaosReport {
  readonly rounds: number;
  readonly kills: number;
  readonly updatesSent: number;
  readonly deliveredOnce: number;
  readonly lost: number;
  readonly duplicated: number;
  /** From the kill to the new leader's own word that it leads (its `role` line). */
  readonly failoverMs: Spread;
  /** From the kill to the new leader's first `getUpdates` at the emulator. */
  readonly firstPollMs: Spread;
  /** From the kill until all three were given a message sent after the takeover, the restarted process included. */
  readonly wholeAgainMs: Spread;
  /** Processes that still ran after all were asked to stop. */
  readonly orphans: number;
  /** Rounds that ended with more than one leader, or without a higher epoch. */
  readonly badElections: number;
  readonly conflicts409: number;
  readonly messages: TallyResult;
  readonly samples: readonly { readonly failoverMs: number; readonly firstPollMs: number; readonly wholeMs: number }[];
}

const names = ["alpha", "beta", "gamma"] as const;
type Name = (typeof names)[number];
/** A healthy line at the default pace is some 30 messages behind while a process is being replaced. */
const behindMax = 500;

const spread = (samples: readonly number[]): Spread => ({
  p50: Math.round(percentile(samples, 0.5)),
  p99: Math.round(percentile(samples, 0.99)),
});

class Chaos {
  readonly line: Line;
  readonly tally: Tally;
  readonly samples: { failoverMs: number; firstPollMs: number; wholeMs: number }[] = [];
  badElections = 0;
  kills = 0;
  private readonly options: ChaosOptions;
  private readonly chance: () => number;
  private readonly current = new Map<Name, Agent>();
  private readonly threadOf = new Map<Name, number>();

  constructor(line: Line, options: ChaosOptions) {
    this.line = line;
    this.options = options;
    this.tally = new Tally(line);
    this.chance = chanceOf(options.seed);
  }

  async start(): Promise<void> {
    for (const name of names) {
      const agent = await this.line.start({ name }).whenReady();
      this.current.set(name, agent);
      this.threadOf.set(name, agent.threadId);
    }
  }

  /** Holds back while one of the threads is far behind: on a machine that is too slow, not the backlog is tested. */
  sendNext(): void {
    if (this.tally.count - this.servedUpTo() > behindMax) return;
    const name = names[this.tally.count % names.length] ?? "alpha";
    this.tally.send(name, this.threadOf.get(name) ?? 0);
  }

  /** Up to which message every thread was served, by whichever process sat there. */
  private servedUpTo(): number {
    const reached = names.map((name) =>
      Math.max(...this.line.agents.filter(({ label }) => label === name).map((agent) => this.tally.reached(agent))),
    );
    return Math.min(...reached);
  }

  async round(number: number): Promise<void> {
    const before = this.tally.count;
    const enough = before + 4 + Math.floor(this.chance() * 20);
    await until("the stream goes on", () => this.tally.count >= enough);
    const leader = this.line.leader;
    const isDouble = this.options.followerEvery > 0 && number % this.options.followerEvery === 0;
    const bystander = names.find((name) => name !== leader.label);
    const victims = [leader, ...(isDouble && bystander !== undefined ? [this.agent(bystander)] : [])];
    const { lastSeq } = this.line.control.state();
    const killedAtMs = Date.now();
    const dying = Promise.all(victims.map((victim) => victim.kill()));
    this.kills += victims.length;

    const successors = (): Agent[] => this.line.leaders.filter((agent) => !victims.includes(agent));
    await until("another one leads", () => successors().length > 0, { state: () => this.describe() });
    await dying;
    for (const victim of victims) this.tally.buried(victim);
    const [successor] = successors();
    if (successor === undefined) throw new Error("the new leader was gone at once");
    const failoverMs = (successor.roles.findLast(({ role }) => role === "leader")?.atMs ?? Infinity) - killedAtMs;
    if (successor.epoch <= leader.epoch || successors().length > 1) this.badElections += 1;
    await until("the new leader polls", () => this.line.polls(lastSeq).some(({ atMs }) => atMs >= killedAtMs));
    const firstPollMs =
      (this.line.polls(lastSeq).find(({ atMs }) => atMs >= killedAtMs)?.atMs ?? Infinity) - killedAtMs;

    if (this.options.disturbs) this.disturb(number);
    const marker = this.tally.count;
    for (const victim of victims) await this.restart(this.nameOf(victim));
    const isWhole = (): boolean => names.every((name) => this.tally.hasReached(this.agent(name), marker));
    await until("all three are served again", isWhole, { state: () => this.describe() });
    const wholeMs = Date.now() - killedAtMs;
    this.samples.push({ failoverMs, firstPollMs, wholeMs });
    if (this.line.leaders.length !== 1) this.badElections += 1;
    this.options.progress(
      `round ${number}/${this.options.rounds}: killed ${victims.map(({ label }) => label).join(" and ")}, ` +
        `${successor.label} leads epoch ${successor.epoch} after ${failoverMs} ms, polls after ${firstPollMs} ms, ` +
        `whole after ${wholeMs} ms, ${this.tally.count} sent`,
    );
  }

  /** On top of the kill, once another one leads: a 429, a lost answer, or a bystander that stands still for a while. */
  private disturb(number: number): void {
    const { control } = this.line;
    if (number % 4 === 1) control.fault({ method: "getUpdates", kind: "retryAfter", seconds: 1 });
    if (number % 4 === 2) control.fault({ method: "getUpdates", kind: "lost" });
    if (number % 4 === 3) this.standStill();
  }

  /** Stops a follower for a moment, unless that would catch it in a write: it would keep SQLite's lock. */
  private standStill(): void {
    const bystander = this.line.agents.find((agent) => agent.isRunning && agent.role === "follower");
    if (bystander === undefined) return;
    bystander.signal("SIGSTOP");
    if (this.line.isWriteLocked()) bystander.signal("SIGCONT");
    else void workFor(700).then(() => bystander.signal("SIGCONT"));
  }

  /** Every role line `leader` in order of time, over all processes: epochs must rise, each granted to one process. */
  leadershipFaults(): number {
    const grants = this.line.agents
      .flatMap(({ roles }) => roles)
      .filter(({ role }) => role === "leader")
      .sort((a, b) => a.atMs - b.atMs);
    return grants.filter(({ epoch }, at) => at > 0 && epoch <= (grants[at - 1]?.epoch ?? 0)).length;
  }

  describe(): string {
    const agents = names.map((name) => this.agent(name));
    return agents
      .map((agent) => `${agent.label} pid ${agent.pid} ${agent.role}\n${agent.output.slice(-1_500)}`)
      .join("\n");
  }

  private agent(name: Name): Agent {
    const agent = this.current.get(name);
    if (agent === undefined) throw new Error(`${name} was never started`);
    return agent;
  }

  private nameOf(agent: Agent): Name {
    const name = names.find((each) => each === agent.label);
    if (name === undefined) throw new Error(`${agent.label} is none of ours`);
    return name;
  }

  private async restart(name: Name): Promise<void> {
    const agent = this.line.start({ name });
    this.current.set(name, agent);
    await agent.whenReady();
    if (agent.threadId !== this.threadOf.get(name)) throw new Error(`${name} came back to another thread`);
  }
}

/** Plays the rounds and stops everything. Rejects when a condition is not met within its ceiling. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const line = await Line.open({ transcriptMax: 100_000, messagesMax: 100_000 });
  try {
    const chaos = new Chaos(line, options);
    await chaos.start();
    const stream = every(options.paceMs, () => chaos.sendNext());
    try {
      for (let number = 1; number <= options.rounds; number += 1) await chaos.round(number);
    } finally {
      stream.stop();
    }
    await line.settled(chaos.tally.updateIds);
    const messages = chaos.tally.result();
    const { conflicts409 } = line.control.state().polls;
    for (const agent of line.agents) agent.signal("SIGTERM");
    await until("all processes end", () => line.agents.every((agent) => !agent.isRunning), { withinMs: 20_000 }).catch(
      (error: unknown) => {
        options.progress(String(error));
      },
    );
    return {
      rounds: options.rounds,
      kills: chaos.kills,
      updatesSent: messages.sent,
      deliveredOnce: messages.deliveredOnce,
      lost: messages.lost.length,
      duplicated: messages.duplicated.length,
      failoverMs: spread(chaos.samples.map(({ failoverMs }) => failoverMs)),
      firstPollMs: spread(chaos.samples.map(({ firstPollMs }) => firstPollMs)),
      wholeAgainMs: spread(chaos.samples.map(({ wholeMs }) => wholeMs)),
      orphans: line.agents.filter((agent) => agent.isRunning).length,
      badElections: chaos.badElections + chaos.leadershipFaults(),
      conflicts409,
      messages,
      samples: chaos.samples,
    };
  } finally {
    await line.dispose();
  }
}
