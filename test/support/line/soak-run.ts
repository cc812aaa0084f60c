/**
 * A line under chaos for minutes: kills, stops, restarts, partitions, 429s and lost answers, one after another, while
 * messages keep coming; and what must hold when it is over.
 *
 * Owns: the chaos and what is measured. Does not own: what is acceptable; the caller judges the report.
 * One instance, `steady`, is never killed: its memory, handles and descriptors are what is watched.
 */
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import type { Fault } from "../../../adapters/telegram/emulator/index.ts";
import type { Agent } from "./agent.ts";
import { bundleProgram } from "./bundle.ts";
import { chanceOf } from "./chance.ts";
import { Line } from "./line.ts";
import { Tally } from "./tally.ts";
import type { TallyResult } from "./tally.ts";
import { every, until, workFor } from "./waiting.ts";

export interface SoakOptions {
  readonly minutes: number;
  readonly paceMs: number;
  readonly seed: number;
  readonly progress: (line: string) => void;
}

export interface Vitals {
  readonly heapMb: number;
  readonly handles: number;
  readonly descriptors: number;
}

export interface SoakReport {
  readonly minutes: number;
  readonly updates: number;
  /** Of the steady instance, after full collections; by least squares over the second half of the run. */
  readonly heapSlopeMBPerHour: number;
  /** Of the steady instance at the end. */
  readonly handles: number;
  readonly descriptors: number;
  /** Beyond what it had when the line had settled. */
  readonly handlesGrowth: number;
  readonly descriptorsGrowth: number;
  /** The state folder at the end. */
  readonly fileBytes: number;
  readonly disturbances: Readonly<Record<string, number>>;
  readonly messages: TallyResult;
  /** What does not hold at the end; empty when all does. */
  readonly faults: readonly string[];
}

const mortal = ["alpha", "beta", "gamma"] as const;
const behindMax = 500;
/** Past a lease of 6 s. */
const longStopMs = 9_000;

class Soak {
  readonly line: Line;
  readonly tally: Tally;
  readonly disturbances: Record<string, number> = {};
  readonly agents = new Map<string, Agent>();
  private readonly threads = new Map<string, number>();
  private readonly chance: () => number;

  constructor(line: Line, seed: number) {
    this.line = line;
    this.tally = new Tally(line);
    this.chance = chanceOf(seed);
  }

  get names(): string[] {
    return [...this.agents.keys()];
  }

  async start(program: string): Promise<void> {
    await this.add("alpha");
    await this.add("steady", program);
    for (const name of mortal.slice(1)) await this.add(name);
  }

  sendNext(): void {
    if (this.tally.count - this.servedUpTo() > behindMax) return;
    const name = this.names[this.tally.count % this.names.length] ?? "steady";
    this.tally.send(name, this.threads.get(name) ?? 0);
  }

  /** One disturbance, and the line whole again after it. */
  async disturb(): Promise<string> {
    const kinds = [
      "killLeader",
      "killFollower",
      "stop",
      "longStop",
      "restart",
      "partition",
      "throttle",
      "lose",
    ] as const;
    const kind = kinds[Math.floor(this.chance() * kinds.length)] ?? "killLeader";
    this.disturbances[kind] = (this.disturbances[kind] ?? 0) + 1;
    await this[kind]();
    const marker = this.tally.count;
    const isWhole = (): boolean =>
      this.line.leaders.length === 1 && this.names.every((name) => this.reached(name) >= marker);
    await until(`all are served after ${kind}`, isWhole, { withinMs: 120_000, state: () => this.describe() });
    return kind;
  }

  describe(): string {
    return this.names
      .map((name) => `${name} ${this.agents.get(name)?.role ?? "?"}, served up to ${this.reached(name)}`)
      .join("; ");
  }

  private async add(name: string, program?: string): Promise<void> {
    const agent = this.line.start({ name, ...(program === undefined ? {} : { program }) });
    this.agents.set(name, agent);
    await agent.whenReady();
    const known = this.threads.get(name) ?? agent.threadId;
    if (agent.threadId !== known) throw new Error(`${name} came back to another thread`);
    this.threads.set(name, known);
  }

  private reached(name: string): number {
    return Math.max(...this.line.agents.filter(({ label }) => label === name).map((each) => this.tally.reached(each)));
  }

  private servedUpTo(): number {
    return Math.min(...this.names.map((name) => this.reached(name)));
  }

  private victim(role: "leader" | "any"): Agent {
    const others = mortal.flatMap((name) => this.agents.get(name) ?? []);
    const leading = others.find((agent) => agent.role === "leader");
    if (role === "leader" && leading !== undefined) return leading;
    return others[Math.floor(this.chance() * others.length)] ?? this.line.leader;
  }

  private async kill(agent: Agent): Promise<void> {
    await agent.kill();
    this.tally.buried(agent);
    await this.add(agent.label);
  }

  private killLeader(): Promise<void> {
    return this.kill(this.victim("leader"));
  }

  private killFollower(): Promise<void> {
    return this.kill(this.victim("any"));
  }

  private async restart(): Promise<void> {
    const agent = this.victim("any");
    await agent.stop();
    this.tally.buried(agent);
    await this.add(agent.label);
  }

  private stop(): Promise<void> {
    return this.stopFor(this.victim("any"), 1_500);
  }

  private longStop(): Promise<void> {
    return this.stopFor(this.victim("leader"), longStopMs);
  }

  /** Stops a process outside of a write: in the middle of one it would keep SQLite's lock. */
  private async stopFor(agent: Agent, ms: number): Promise<void> {
    await until(`${agent.label} is stopped outside of a write`, () => {
      agent.signal("SIGSTOP");
      if (!this.line.isWriteLocked()) return true;
      agent.signal("SIGCONT");
      return false;
    });
    try {
      await workFor(ms);
    } finally {
      agent.signal("SIGCONT");
    }
  }

  private async partition(): Promise<void> {
    const ms = 1_000 + Math.floor(this.chance() * 3_000);
    this.line.control.refuseConnections({ ms });
    await workFor(ms);
  }

  private throttle(): Promise<void> {
    return this.applied({ method: "getUpdates", kind: "retryAfter", seconds: 1, times: 2 }, 2);
  }

  private lose(): Promise<void> {
    return this.applied({ method: "getUpdates", kind: "lost", times: 3 }, 3);
  }

  private async applied(fault: Fault, times: number): Promise<void> {
    const { applied } = this.line.control.state().faults;
    this.line.control.fault(fault);
    await until(`${fault.kind} happens`, () => this.line.control.state().faults.applied >= applied + times);
  }
}

/** Lines of the steady instance about itself. */
function vitalsOf(agent: Agent): Vitals[] {
  return agent.output
    .split("\n")
    .filter((line) => line.startsWith('{"type":"vitals"'))
    .map((line) => JSON.parse(line) as Vitals); // our own program's words
}

/** Least squares over samples at even intervals; per sample. */
export function slopeOf(samples: readonly number[]): number {
  const mean = (of: readonly number[]): number => of.reduce((sum, each) => sum + each, 0) / Math.max(1, of.length);
  const middle = (samples.length - 1) / 2;
  const level = mean(samples);
  const spread = samples.reduce((sum, _, at) => sum + (at - middle) ** 2, 0);
  return spread === 0 ? 0 : samples.reduce((sum, each, at) => sum + (at - middle) * (each - level), 0) / spread;
}

const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    // Sockets and side files come and go while we look.
    .map((name) => statSync(path.join(folder, name), { throwIfNoEntry: false }))
    .reduce((sum, state) => sum + (state?.isFile() === true ? state.size : 0), 0);

async function faultsAtTheEnd({ line, tally, names }: Soak): Promise<string[]> {
  const messages = tally.result();
  const status = await line.status();
  const { lost, duplicated, misdelivered, outOfOrder, unmarked } = messages;
  const open = line.control.state().threads.filter((thread) => thread.status === "open");
  const ids = (of: readonly { readonly threadId: number }[]): string =>
    of
      .map(({ threadId }) => threadId)
      .sort((one, other) => one - other)
      .join(",");
  const checks: readonly (readonly [boolean, string])[] = [
    [lost.length === 0, `lost: ${lost.join(", ")}`],
    [duplicated.length === 0, `settled twice: ${duplicated.join(", ")}`],
    [misdelivered.length === 0, `in the wrong hands: ${misdelivered.join(", ")}`],
    [outOfOrder.length === 0, `out of order: ${outOfOrder.join(", ")}`],
    [unmarked.length === 0, `given again without saying so: ${unmarked.join(", ")}`],
    [status.journal.waiting + status.journal.claimed === 0, `journal: ${JSON.stringify(status.journal)}`],
    [status.journal.deadLetters === 0, `${status.journal.deadLetters} dead letters, and nothing that explains them`],
    [line.leaders.length === 1, `${line.leaders.length} leaders`],
    [ids(open) === ids(status.threads), `threads ${ids(open)}, bindings ${ids(status.threads)}`],
    [status.threads.length === names.length, `${status.threads.length} bindings for ${names.length} instances`],
    [status.leftovers.length === 0, `leftovers: ${JSON.stringify(status.leftovers)}`],
  ];
  return checks.flatMap(([holds, what]) => (holds ? [] : [what]));
}

/** Plays for so many minutes and stops everything. Rejects when the line does not come back from a disturbance. */
export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const program = await bundleProgram("test/support/line/steady-program.ts");
  const line = await Line.open({ transcriptMax: 5_000, messagesMax: 5_000 });
  try {
    const soak = new Soak(line, options.seed);
    await soak.start(program);
    const steady = soak.agents.get("steady");
    if (steady === undefined) throw new Error("the steady instance was never started");
    const endAt = performance.now() + options.minutes * 60_000;
    const stream = every(options.paceMs, () => soak.sendNext());
    try {
      for (let number = 1; performance.now() < endAt; number += 1) {
        const kind = await soak.disturb();
        options.progress(`${number}: ${kind}; ${soak.tally.count} sent, ${vitalsOf(steady).length} looks`);
      }
    } finally {
      stream.stop();
    }
    await line.settled(soak.tally.updateIds);
    const looks = vitalsOf(steady).length;
    await until("a last look at the steady instance", () => vitalsOf(steady).length > looks);
    const vitals = vitalsOf(steady);
    const settled = vitals.slice(Math.floor(vitals.length / 2));
    const last = vitals.at(-1) ?? { heapMb: 0, handles: 0, descriptors: 0 };
    const first = vitals[Math.min(2, vitals.length - 1)] ?? last;
    const faults = await faultsAtTheEnd(soak);
    const messages = soak.tally.result();
    return {
      minutes: options.minutes,
      updates: messages.sent,
      heapSlopeMBPerHour: Number((slopeOf(settled.map(({ heapMb }) => heapMb)) * 720).toFixed(2)),
      handles: last.handles,
      descriptors: last.descriptors,
      handlesGrowth: last.handles - first.handles,
      descriptorsGrowth: last.descriptors - first.descriptors,
      fileBytes: bytesIn(line.folder),
      disturbances: soak.disturbances,
      messages,
      faults,
    };
  } finally {
    await line.dispose();
  }
}
