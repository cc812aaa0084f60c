/**
 * The demo's agent processes: started, watched, started again.
 *
 * Owns: the child processes and what they say about themselves. Does not own: what the demo does with it.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";

export interface AgentState {
  readonly name: string;
  readonly pid: number;
  readonly role: string;
  readonly epoch: number;
  readonly threadId: number | null;
}

export interface AgentSettings {
  readonly names: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  /** Start a process again that ended by itself, after this pause; 0 = never. */
  readonly restartAfterMs: number;
  readonly onEvent: (event: AgentEvent) => void;
}

export type AgentEvent =
  | { readonly type: "changed"; readonly state: AgentState }
  | { readonly type: "trouble"; readonly name: string; readonly message: string }
  /** `isUnusable`: it can never start with these options; it has said why. */
  | {
      readonly type: "exited";
      readonly name: string;
      readonly pid: number;
      readonly how: string;
      readonly isUnusable: boolean;
    };

interface Line {
  readonly type: string;
  readonly pid: number;
  readonly role?: string;
  readonly epoch?: number;
  readonly threadId?: number | null;
  readonly message?: string;
}

export class Agents {
  private readonly settings: AgentSettings;
  private readonly children = new Map<string, ChildProcess>();
  private readonly states = new Map<string, AgentState>();
  private isStopping = false;

  constructor(settings: AgentSettings) {
    this.settings = settings;
  }

  startAll(): void {
    for (const name of this.settings.names) this.start(name);
  }

  start(name: string): void {
    const script = process.argv[1];
    if (script === undefined) throw new Error("the demo does not know its own program");
    const child = spawn(process.execPath, [script, "echo-agent", "--name", name, ...this.settings.args], {
      env: { ...process.env, ...this.settings.env },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.children.set(name, child);
    createInterface({ input: child.stdout }).on("line", (line) => {
      this.onLine(name, line);
    });
    child.once("exit", (code, signal) => {
      this.onExit(name, child, { how: signal ?? `code ${String(code)}`, isUnusable: code === 2 });
    });
  }

  /** Kills a process the hard way; it does not get to say goodbye. */
  kill(name: string): void {
    this.children.get(name)?.kill("SIGKILL");
  }

  state(name: string): AgentState | null {
    return this.states.get(name) ?? null;
  }

  all(): readonly AgentState[] {
    return this.settings.names.flatMap((name) => this.states.get(name) ?? []);
  }

  async stopAll(): Promise<void> {
    this.isStopping = true;
    const running = [...this.children.values()].filter((child) => child.exitCode === null && child.signalCode === null);
    await Promise.all(
      running.map(
        (child) =>
          new Promise<void>((resolve) => {
            child.once("exit", () => {
              resolve();
            });
            child.kill("SIGTERM");
          }),
      ),
    );
  }

  private onLine(name: string, text: string): void {
    // Our own agent wrote it, in exactly this form.
    const line = JSON.parse(text) as Line;
    if (line.type === "error") {
      this.settings.onEvent({ type: "trouble", name, message: line.message ?? "" });
      return;
    }
    const before = this.states.get(name);
    const state: AgentState = {
      name,
      pid: line.pid,
      role: line.role ?? before?.role ?? "starting",
      epoch: line.epoch ?? before?.epoch ?? 0,
      threadId: line.threadId ?? (before?.pid === line.pid ? before.threadId : null),
    };
    this.states.set(name, state);
    this.settings.onEvent({ type: "changed", state });
  }

  private onExit(name: string, child: ChildProcess, end: { readonly how: string; readonly isUnusable: boolean }): void {
    if (this.children.get(name) !== child) return;
    this.children.delete(name);
    this.states.delete(name);
    this.settings.onEvent({ type: "exited", name, pid: child.pid ?? 0, ...end });
    if (this.isStopping || end.isUnusable || this.settings.restartAfterMs === 0) return;
    setTimeout(() => {
      if (!this.isStopping && !this.children.has(name)) this.start(name);
    }, this.settings.restartAfterMs);
  }
}
