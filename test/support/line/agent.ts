/**
 * One agent process on the line, spoken to through `run --ndjson` (or a program with the same lines).
 *
 * Owns: the child process, every line it wrote, the times it wrote them. Does not own: what the lines mean for a test.
 * Times are `Date.now()` of this process, the clock that the emulator in this process stamps its transcript with.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import type { Update } from "@grammyjs/types";
import { until, within } from "./waiting.ts";

export interface ReadyLine {
  readonly type: "ready";
  readonly instanceId: string;
  readonly role: string;
  readonly thread: {
    readonly chatId: number;
    readonly threadId: number;
    readonly slot: string;
    readonly name: string;
  } | null;
}
export interface RoleLine {
  readonly type: "role";
  readonly role: string;
  readonly epoch: number;
}
export interface UpdateLine {
  readonly type: "update";
  readonly id: string;
  readonly update: Update;
  readonly redelivered?: boolean;
}
export interface ResultLine {
  readonly type: "result";
  readonly id: number;
  readonly ok: boolean;
  readonly result?: unknown;
  readonly outcome?: string;
  readonly error?: { readonly error_code?: number; readonly description: string };
}
export interface ErrorLine {
  readonly type: "error";
  readonly kind: string;
  readonly message: string;
  readonly line?: string;
}
/** Written by the program that stops itself at a chosen step. */
export interface StepLine {
  readonly type: "step";
  readonly step: string;
}
type Line = ReadyLine | RoleLine | UpdateLine | ResultLine | ErrorLine | StepLine;
type At<What> = What & { readonly atMs: number };

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly atMs: number;
}

export interface AgentOptions {
  /** For messages of tests. */
  readonly label: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** What Node is started by; empty = nothing stands in front of it. */
  readonly startedBy: readonly string[];
  /** Called with each update; the default acks it at once. */
  readonly onUpdate?: (agent: Agent, update: At<UpdateLine>) => void;
  /** Resolves when the line has done what it does unasked once this agent is ready. */
  readonly settled: (agent: Agent) => Promise<void>;
}

export class Agent {
  readonly label: string;
  readonly exited: Promise<Exit>;
  readonly roles: At<RoleLine>[] = [];
  readonly updates: At<UpdateLine>[] = [];
  /** Ids of the updates for which an ack was written to it. */
  readonly acks: string[] = [];
  readonly errors: At<ErrorLine>[] = [];
  readonly steps: At<StepLine>[] = [];
  ready: At<ReadyLine> | null = null;
  exit: Exit | null = null;
  /** All that it wrote. */
  output = "";
  readonly startedAtMs = Date.now();

  private readonly child: ChildProcess;
  private readonly settled: (agent: Agent) => Promise<void>;
  private readonly results = new Map<number, (line: ResultLine) => void>();
  private readonly onUpdate: (agent: Agent, update: At<UpdateLine>) => void;
  private nextCall = 1;

  constructor(options: AgentOptions) {
    this.label = options.label;
    this.settled = options.settled;
    this.onUpdate =
      options.onUpdate ??
      ((agent, update) => {
        agent.ack(update.id);
      });
    const [command = process.execPath, ...args] = [...options.startedBy, process.execPath, ...options.args];
    this.child = spawn(command, args, { env: { ...options.env }, stdio: "pipe" });
    const { stdin, stdout, stderr } = this.child;
    if (stdin === null || stdout === null || stderr === null) throw new Error("the child has no pipes");
    // Writing to a process that was killed is expected.
    stdin.on("error", () => undefined);
    stderr.setEncoding("utf8").on("data", (chunk: string) => (this.output += chunk));
    createInterface({ input: stdout }).on("line", (line) => {
      this.output += `${line}\n`;
      this.onLine(line);
    });
    this.exited = new Promise((resolve) => {
      this.child.once("close", (code, signal) => {
        this.exit = { code, signal, atMs: Date.now() };
        resolve(this.exit);
      });
    });
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }
  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }
  get role(): string {
    return this.roles.at(-1)?.role ?? "none";
  }
  get epoch(): number {
    return this.roles.at(-1)?.epoch ?? 0;
  }
  /** Its thread, once it is ready. */
  get threadId(): number {
    const thread = this.ready?.thread ?? null;
    if (thread === null) throw new Error(`${this.label} has no thread (yet)\n${this.output}`);
    return thread.threadId;
  }
  /** Texts of the messages it was given, in order. */
  get texts(): string[] {
    return this.updates.map(({ update }) => update.message?.text ?? "");
  }

  async whenReady(): Promise<this> {
    await until(`${this.label} is ready`, () => this.ready !== null || !this.isRunning, { state: () => this.output });
    if (this.ready === null) throw new Error(`${this.label} ended before it was ready\n${this.output}`);
    await this.settled(this);
    return this;
  }

  whenRole(role: string): Promise<number> {
    return until(`${this.label} is ${role}`, () => this.role === role, { state: () => this.output });
  }

  whenExited(): Promise<Exit> {
    return within(`${this.label} ends`, this.exited);
  }

  write(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }

  ack(id: string): void {
    this.acks.push(id);
    this.write(JSON.stringify({ type: "ack", id }));
  }

  call(method: string, payload: Readonly<Record<string, unknown>>): Promise<ResultLine> {
    const id = this.nextCall;
    this.nextCall += 1;
    const answer = new Promise<ResultLine>((resolve) => this.results.set(id, resolve));
    this.write(JSON.stringify({ type: "call", id, method, payload }));
    return within(`${this.label} answers ${method}`, answer);
  }

  closeInput(): void {
    this.child.stdin?.end();
  }

  /** From now on nobody reads what it writes to stdout: each write of it fails with EPIPE. */
  closeOutput(): void {
    this.child.stdout?.destroy();
  }

  signal(signal: NodeJS.Signals): void {
    if (this.isRunning) this.child.kill(signal);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.exited;
  }

  /** SIGTERM, and the milliseconds until it has ended. */
  async stop(): Promise<number> {
    const startedAt = performance.now();
    this.signal("SIGTERM");
    await this.whenExited();
    return performance.now() - startedAt;
  }

  private onLine(text: string): void {
    let line: Line;
    try {
      // Our own program wrote it, in one of these forms; a line in another form fails the test that waits for it.
      line = JSON.parse(text) as Line;
    } catch {
      return; // Commands that print for people; kept in `output`.
    }
    const atMs = Date.now();
    switch (line.type) {
      case "ready":
        this.ready = { ...line, atMs };
        break;
      case "role":
        this.roles.push({ ...line, atMs });
        break;
      case "update":
        this.updates.push({ ...line, atMs });
        this.onUpdate(this, { ...line, atMs });
        break;
      case "error":
        this.errors.push({ ...line, atMs });
        break;
      case "step":
        this.steps.push({ ...line, atMs });
        break;
      case "result":
        this.results.get(line.id)?.(line);
        this.results.delete(line.id);
        break;
    }
  }
}
