/**
 * A whole line for one test: an emulator in this process, a state folder, agent processes.
 *
 * Owns: all three. `dispose` kills what runs, removes the folder, and fails when the token stands in anything that a
 * process wrote.
 */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import Database from "better-sqlite3";
import { startEmulator } from "../../../adapters/telegram/emulator/index.ts";
import type { Emulator, EmulatorOptions, TranscriptEntry } from "../../../adapters/telegram/emulator/index.ts";
import type { LineStatus } from "../../../index.ts";
import { builtCliPath } from "../tools.ts";
import { Agent } from "./agent.ts";
import type { AgentOptions } from "./agent.ts";
import { owner, token } from "./fixtures.ts";
import { until } from "./waiting.ts";

/** The program under test; another build of it can be named while several are at hand. */
export const cliPath = (): string => process.env["PARTYLINE_TEST_CLI"] ?? builtCliPath();

/** The line's own word in a thread: somebody is connected to it. */
export const isNotice = ({ text }: { readonly text: string }): boolean => /^📡 Instance .* connected\.$/.test(text);

/** Long enough for a notice; where a test keeps it from being sent, nothing is lost by going on. */
const noticeLimitMs = 3_000;

/** Resolves when a thread has its connected notice, which comes in the background and takes a message id, and any fault. */
export async function noticed({ control }: Emulator, threadId: number | undefined): Promise<void> {
  if (threadId === undefined) return;
  const isTold = (): boolean => control.messages().some((each) => each.threadId === threadId && isNotice(each));
  const startedAt = performance.now();
  await until("the notice stands", () => isTold() || performance.now() - startedAt > noticeLimitMs);
}

export interface StartOptions {
  /** Undefined: unnamed. */
  readonly name?: string;
  readonly ack?: "auto" | "explicit";
  /** Further flags of `run`. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly onUpdate?: NonNullable<AgentOptions["onUpdate"]>;
  /** A bundled program to run in place of the command line. */
  readonly program?: string;
  /** A command that starts Node in its place, such as one that takes rights away. */
  readonly startedBy?: readonly string[];
}

export class Line {
  readonly emulator: Emulator;
  readonly home: string;
  /** Every process that was started, in order; also those that ended. */
  readonly agents: Agent[] = [];

  private constructor(emulator: Emulator) {
    this.emulator = emulator;
    this.home = mkdtempSync(path.join(os.tmpdir(), "pl-"));
  }

  static async open(options: Partial<EmulatorOptions> = {}): Promise<Line> {
    return new Line(await startEmulator({ token, ...options }));
  }

  get control(): Emulator["control"] {
    return this.emulator.control;
  }
  /** The folder of this bot's default profile. */
  get folder(): string {
    return path.join(this.home, "700001", "default");
  }
  get leaders(): Agent[] {
    return this.agents.filter((agent) => agent.isRunning && agent.role === "leader");
  }
  /** The one that leads; an error when there is none, or several. */
  get leader(): Agent {
    const [only, ...more] = this.leaders;
    if (only === undefined || more.length > 0)
      throw new Error(`${this.leaders.length} leaders: ${this.leaders.map((agent) => agent.label).join(", ")}`);
    return only;
  }

  environment(more: Readonly<Record<string, string>> = {}): Record<string, string> {
    return {
      PATH: process.env["PATH"] ?? "",
      HOME: this.home,
      TMPDIR: os.tmpdir(),
      TELEGRAM_BOT_TOKEN: token,
      PARTYLINE_API_ROOT: this.emulator.apiRoot,
      PARTYLINE_HOME: this.home,
      PARTYLINE_USER: String(owner),
      ...more,
    };
  }

  /** Starts an agent and returns at once. */
  start(options: StartOptions = {}): Agent {
    const { name, ack = "explicit", flags = [], env = {}, onUpdate, program, startedBy = [] } = options;
    const named = name === undefined ? [] : ["--name", name];
    const command = program === undefined ? [cliPath(), "run", "--ndjson", "--ack", ack] : [program];
    return this.keep(
      new Agent({
        label: name ?? `unnamed-${this.agents.length}`,
        args: [...command, ...named, ...flags],
        env: this.environment(env),
        startedBy,
        settled: ({ ready }) => noticed(this.emulator, ready?.thread?.threadId),
        ...(onUpdate === undefined ? {} : { onUpdate }),
      }),
    );
  }

  /** Starts agents one after the other, each ready before the next: the first one leads. */
  async startAll(names: readonly string[], options: Omit<StartOptions, "name"> = {}): Promise<Agent[]> {
    const started: Agent[] = [];
    for (const name of names) started.push(await this.start({ ...options, name }).whenReady());
    return started;
  }

  /** Runs another command of the program to its end. */
  async run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Agent> {
    const agent = this.keep(
      new Agent({
        label: args.join(" "),
        args: [cliPath(), ...args],
        env: this.environment(env),
        startedBy: [],
        settled: () => Promise.resolve(),
      }),
    );
    await agent.whenExited();
    return agent;
  }

  async status(): Promise<LineStatus> {
    const { exit, output } = await this.run(["status", "--json"]);
    if (exit?.code !== 0) throw new Error(`status failed: ${output}`);
    return JSON.parse(output) as LineStatus;
  }

  say(threadId: number, text: string): number {
    return this.control.userSends({ threadId, text }).updateId ?? 0;
  }

  /** `getUpdates` calls after a sequence number. */
  polls(since = 0): TranscriptEntry[] {
    return this.control.transcript({ since }).filter(({ method }) => method.toLowerCase() === "getupdates");
  }

  /** Resolves when every one of these update ids has been settled, by the store. */
  async settled(updateIds: readonly number[]): Promise<void> {
    const isSettled = (): boolean => {
      const open = new Set(this.openUpdates());
      const done = this.settledUpdates();
      return updateIds.every((id) => done.has(id) && !open.has(id));
    };
    await until(`updates ${updateIds.slice(0, 5).join(", ")}… are settled`, isSettled);
  }

  /** Update ids with an entry in the journal, straight from the database. */
  openUpdates(): number[] {
    return this.read<number>("SELECT update_id FROM updates ORDER BY seq");
  }
  /** Update ids with a tombstone. */
  settledUpdates(): Set<number> {
    return new Set(this.read<number>("SELECT update_id FROM tombstones"));
  }

  /** Whether some process, perhaps a stopped one, is in the middle of a write. */
  isWriteLocked(): boolean {
    const db = new Database(path.join(this.folder, "store.db"), { timeout: 200 });
    try {
      db.exec("BEGIN IMMEDIATE");
      db.exec("ROLLBACK");
      return false;
    } catch {
      return true;
    } finally {
      db.close();
    }
  }

  async dispose(): Promise<void> {
    // A stopped process (SIGSTOP) dies of SIGKILL as well.
    await Promise.all(this.agents.map((agent) => agent.kill()));
    await this.emulator.close();
    rmSync(this.home, { recursive: true, force: true });
    const secret = token.slice(token.indexOf(":") + 1);
    const leak = this.agents.find((agent) => agent.output.includes(secret));
    if (leak !== undefined) throw new Error(`${leak.label} wrote the token`);
  }

  private read<Value>(sql: string): Value[] {
    const db = new Database(path.join(this.folder, "store.db"), { readonly: true });
    try {
      return db.prepare<[], Value>(sql).pluck().all();
    } finally {
      db.close();
    }
  }

  private keep(agent: Agent): Agent {
    this.agents.push(agent);
    return agent;
  }
}
