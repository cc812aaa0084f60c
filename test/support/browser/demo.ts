/**
 * `partyline demo` as a real process, known by what it prints.
 *
 * Owns: the process, and the end of it and of its agents whatever happened. Does not own: the page.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { builtCliPath } from "../tools.ts";
import { until, within } from "../line/waiting.ts";

export interface DemoAgent {
  readonly name: string;
  readonly pid: number;
  readonly role: string;
  readonly threadId: number | null;
}

const inspectorLine = /^Inspector\s+(http:\S+)$/;
const addressLine = /^Chat page\s+(http:\S+)$/;
const agentLine = /^(\S+)\s+pid (\d+)\s+(\w+), epoch \d+(?:, thread (\d+))?$/;
const goneLine = /^(\S+)\s+pid (\d+)\s+is gone \((.+)\)$/;

export class Demo {
  output = "";
  pageUrl = "";
  inspectorUrl = "";
  /** The agents that run, by name, as last told. */
  readonly agents = new Map<string, DemoAgent>();
  /** Pids of the agents that ended, and how. */
  readonly gone = new Map<number, string>();

  private readonly child: ChildProcess;
  private readonly ended: Promise<number | null>;
  private readonly pids = new Set<number>();
  private readonly killOnExit = (): void => {
    this.child.kill("SIGKILL");
  };

  private constructor() {
    const { TELEGRAM_BOT_TOKEN: _token, ...env } = process.env;
    this.child = spawn(process.execPath, [builtCliPath(), "demo", "--port", "0"], { env, stdio: "pipe" });
    const { stdout, stderr } = this.child;
    if (stdout === null || stderr === null) throw new Error("the demo has no pipes");
    stderr.setEncoding("utf8").on("data", (chunk: string) => (this.output += chunk));
    createInterface({ input: stdout }).on("line", (line) => {
      this.output += `${line}\n`;
      this.onLine(line);
    });
    this.ended = new Promise((resolve) => {
      this.child.once("close", resolve);
    });
    process.once("exit", this.killOnExit);
  }

  /** Resolves when all three agents have a thread and one of them leads. */
  static async start(): Promise<Demo> {
    const demo = new Demo();
    try {
      await demo.whenReady();
    } catch (error) {
      await demo.stop();
      throw error;
    }
    return demo;
  }

  get names(): string[] {
    return [...this.agents.keys()].sort();
  }

  /** The one agent that leads, as last told. */
  get leader(): DemoAgent {
    const [only, ...more] = [...this.agents.values()].filter(({ role }) => role === "leader");
    if (only === undefined || more.length > 0) throw new Error(`${more.length + 1} leaders or none\n${this.output}`);
    return only;
  }

  get livingPids(): number[] {
    return [...this.pids].filter(isAlive);
  }

  async whenReady(): Promise<void> {
    const isReady = (): boolean => {
      const agents = [...this.agents.values()];
      const leaders = agents.filter(({ role }) => role === "leader");
      return agents.length === 3 && leaders.length === 1 && agents.every(({ threadId }) => threadId !== null);
    };
    await until("three agents are on the line", () => isReady() || this.child.exitCode !== null, {
      state: () => this.output,
    });
    if (!isReady()) throw new Error(`the demo ended before its agents were ready\n${this.output}`);
  }

  /** Resolves with the exit code. What does not end when asked is killed. */
  async stop(): Promise<number | null> {
    process.off("exit", this.killOnExit);
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill("SIGTERM");
    try {
      return await within("the demo ends", this.ended);
    } catch (error) {
      this.child.kill("SIGKILL");
      for (const pid of this.livingPids) process.kill(pid, "SIGKILL");
      throw error;
    }
  }

  private onLine(line: string): void {
    const address = addressLine.exec(line);
    if (address?.[1] !== undefined) this.pageUrl = address[1];
    this.inspectorUrl ||= inspectorLine.exec(line)?.[1] ?? "";
    const agent = agentLine.exec(line);
    if (agent !== null) {
      const [, name = "", pid, role = "", threadId] = agent;
      this.pids.add(Number(pid));
      this.agents.set(name, {
        name,
        pid: Number(pid),
        role,
        threadId: threadId === undefined ? null : Number(threadId),
      });
    }
    const gone = goneLine.exec(line);
    if (gone !== null) {
      const [, name = "", pid, how = ""] = gone;
      this.gone.set(Number(pid), how);
      this.agents.delete(name);
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // ESRCH: there is no such process.
  }
}
