/** Every program in examples/, run as a reader would, against an emulator. */
import { spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, test } from "vitest";
import { useLines } from "../support/line/use-line.ts";
import type { Line } from "../support/line/line.ts";
import { isCi } from "../support/tools.ts";
import { until, within } from "../support/line/waiting.ts";

const open = useLines();
const running: Program[] = [];

/** A process and what it printed. */
class Program {
  readonly lines: string[] = [];
  readonly ended: Promise<number | null>;
  private readonly child;

  constructor(command: string, args: readonly string[], line: Line) {
    this.child = spawn(command, [...args], { env: line.environment(), stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.child.stdout, this.child.stderr])
      createInterface({ input: stream }).on("line", (text) => this.lines.push(text));
    this.ended = new Promise((resolve) => this.child.once("close", resolve));
    running.push(this);
  }

  async whenPrinted(start: string): Promise<void> {
    await until(`it prints "${start}"`, () => this.lines.some((text) => text.startsWith(start)), {
      state: () => this.lines.join("\n"),
    });
  }

  /** As Ctrl-C or a service manager would end it. Resolves with its exit code. */
  async stop(): Promise<number | null> {
    this.child.kill("SIGTERM");
    return within("it ends on SIGTERM", this.ended);
  }

  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.ended;
  }
}

const node = (line: Line, ...args: string[]): Program => new Program(process.execPath, args, line);

afterEach(async () => {
  for (const program of running.splice(0)) await program.kill();
});

const botTexts = (line: Line): string[] =>
  line.control
    .messages({})
    .filter((message) => message.from.isBot)
    .map((message) => message.text);
const said = (line: Line, text: string): Promise<number> =>
  until(`the bot says "${text}"`, () => botTexts(line).includes(text), { state: () => botTexts(line).join("\n") });
const threadNamed = (line: Line, wanted: string): number => {
  const thread = line.control.state().threads.find(({ name }) => name === wanted);
  if (thread === undefined) throw new Error(`no thread "${wanted}"`);
  return thread.threadId;
};

const tested = new Set<string>();
const example = (file: string): string => {
  tested.add(file);
  return `examples/${file}`;
};

describe("examples", () => {
  const echo = example("echo.mjs");
  test("echo.mjs: two of them share the bot, each answers in its own thread", async () => {
    const line = await open();
    const first = node(line, echo, "ada");
    await first.whenPrinted("ready:");
    const second = node(line, echo, "bob");
    await second.whenPrinted("ready:");
    line.say(threadNamed(line, "ada"), "one");
    line.say(threadNamed(line, "bob"), "two");
    await said(line, "ada: one");
    await said(line, "bob: two");
    expect(await second.stop()).toBe(0);
    expect(await first.stop()).toBe(0);
  });

  const grammyBot = example("grammy-bot.mjs");
  test("grammy-bot.mjs: commands, buttons and texts reach a bot that never polls", async () => {
    const line = await open();
    const bot = node(line, grammyBot);
    await bot.whenPrinted("ready:");
    const threadId = threadNamed(line, "waiter");
    line.say(threadId, "hello");
    await said(line, "You said: hello");
    line.control.rawUpdate({ update: commandUpdate(line, threadId) });
    await said(line, "Pick one.");
    const menu = line.control.messages({}).find((message) => message.text === "Pick one.");
    line.control.userPressesButton({ messageId: menu!.messageId, data: "tea" });
    await said(line, "One tea, coming up.");
    expect(await bot.stop()).toBe(0);
  });

  const python = example("ndjson-bot.py");
  const hasPython = spawnSync("python3", ["--version"]).status === 0;
  if (!hasPython) console.warn(`examples/ndjson-bot.py ${isCi() ? "fails" : "is skipped"}: there is no python3.`);
  test.skipIf(!hasPython && !isCi())("ndjson-bot.py: a program in another language over NDJSON", async () => {
    expect(hasPython, "python3 must be there in CI").toBe(true);
    const line = await open();
    const bot = new Program("python3", [python], line);
    await bot.whenPrinted("ready:");
    const update = line.say(threadNamed(line, "python"), "abc");
    await said(line, "cba");
    await line.settled([update]);
    expect(await bot.stop()).toBe(0);
  });

  const emulator = example("emulator.mjs");
  test("emulator.mjs: runs to its end by itself", async () => {
    const line = await open();
    const program = node(line, emulator);
    expect(await within("it ends", program.ended)).toBe(0);
    expect(program.lines).toContain("bot : You wrote: is anybody there?");
    expect(program.lines).toContain("refused: Bad Request: message thread not found");
  });

  const checkHost = example("check-host.mjs");
  test("check-host.mjs: prints the counterexample that docs/checking.md shows, and simulates a host without a violation", () => {
    const { status, stdout } = spawnSync(process.execPath, [checkHost], { encoding: "utf8" });
    expect(status).toBe(0);
    expect(stdout).toContain("noted first: holds, 50 states");
    expect(stdout).toMatch(/^simulated: 0 violations in \d+ minutes, updates were acked$/m);
    const docs = readFileSync("docs/checking.md", "utf8");
    const shown = [...docs.matchAll(/```(?:text|mermaid)\n([^]*?)```/g)].map(([, block = ""]) => block.trimEnd());
    expect(shown).toHaveLength(2);
    for (const block of shown) expect(stdout).toContain(block);
  });

  test("every file in examples/ is run here", () => {
    expect(
      readdirSync("examples")
        .filter((file) => !file.startsWith("__"))
        .sort(),
    ).toEqual([...tested].sort());
  });
});

/** The emulator makes no entities; a command needs one. */
function commandUpdate(line: Line, threadId: number): Record<string, unknown> {
  const from = line.control.state().owner;
  return {
    message: {
      message_id: 900,
      date: 1_790_000_000,
      chat: { id: from.id, type: "private", first_name: from.first_name },
      from,
      message_thread_id: threadId,
      is_topic_message: true,
      text: "/start",
      entities: [{ type: "bot_command", offset: 0, length: 6 }],
    },
  };
}
