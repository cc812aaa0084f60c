/**
 * `partyline demo` and `partyline start`: three echo agents in three processes, on the embedded Bot API emulator with a
 * chat page, or on the real bot when there is a token.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { systemClock } from "../adapters/host/clock.ts";
import { startEmulator } from "../adapters/telegram/emulator/index.ts";
import { Agents } from "./demo-agents.ts";
import type { AgentEvent } from "./demo-agents.ts";
import { playRound } from "./demo-round.ts";
import { stateFolder } from "../index.ts";
import { serveLine } from "./inspect.ts";
import { UsageError } from "./options.ts";

const demoToken = "700001:demo-token-of-the-embedded-emulator";
const demoUser = "5550001";
const names = ["Amber", "Birch", "Cedar"];
/** How long a thread outlives its process in the scripted round. */
const demoGraceMs = 12_000;
const demoWaitMaxMs = 30_000;
const demoPage = { port: 0, allowSend: false, title: "demo" } as const;

export interface DemoFlags {
  readonly headless?: boolean;
  readonly port: number;
}

const print = (line: string): void => {
  console.log(line);
};

function tellEvent(event: AgentEvent): void {
  if (event.type === "changed") {
    const { name, pid, role, epoch, threadId } = event.state;
    const thread = threadId === null ? "" : `, thread ${String(threadId)}`;
    print(`${name.padEnd(8)} pid ${String(pid).padEnd(8)} ${role}, epoch ${String(epoch)}${thread}`);
  } else if (event.type === "exited")
    print(`${event.name.padEnd(8)} pid ${String(event.pid).padEnd(8)} is gone (${event.how})`);
  else print(`${event.name.padEnd(8)} ${event.message}`);
}

const untilTold = (): Promise<void> =>
  new Promise((resolve) => {
    process.once("SIGINT", resolve);
    process.once("SIGTERM", resolve);
  });

/** Everything on this machine, nothing to configure. Resolves with the exit code. */
export async function runDemo(flags: DemoFlags): Promise<number> {
  const home = await mkdtemp(path.join(tmpdir(), "partyline-demo-"));
  const emulator = await startEmulator({
    token: demoToken,
    port: flags.port,
    owner: { id: Number(demoUser), first_name: "You" },
  });
  const isHeadless = flags.headless === true;
  const inspector = isHeadless ? null : await serveLine({ token: demoToken, home }, demoPage);
  const agents = new Agents({
    names,
    // Short, so that the round need not wait ten minutes to show it.
    args: isHeadless ? ["--thread-grace", `${String(demoGraceMs)}ms`] : [],
    env: {
      TELEGRAM_BOT_TOKEN: demoToken,
      PARTYLINE_API_ROOT: emulator.apiRoot,
      PARTYLINE_HOME: home,
      PARTYLINE_USER: demoUser,
    },
    restartAfterMs: isHeadless ? 0 : 3_000,
    onEvent: tellEvent,
  });
  try {
    print("Partyline demo: three echo agents share one bot, on the embedded Bot API emulator.");
    if (!isHeadless) {
      print(`Chat page   ${emulator.pageUrl}`);
      print(`Inspector   ${inspector?.pageUrl ?? "could not be started"}`);
      print("Write into a thread and watch it answer. Kill a process with kill -9 and write again: another leads,");
      print("nothing is lost, and the killed agent is started again after 3 s. Ctrl-C ends the demo.\n");
    }
    agents.startAll();
    if (!isHeadless) {
      await untilTold();
      return 0;
    }
    const chat = emulator.control;
    const times = { clock: systemClock(), graceMs: demoGraceMs, waitMaxMs: demoWaitMaxMs };
    const failed = await playRound({ chat, agents, names, print, ...times });
    print(failed === 0 ? "The round held." : `${String(failed)} checks of the round failed.`);
    return failed === 0 ? 0 : 1;
  } finally {
    await agents.stopAll();
    await inspector?.close();
    await emulator.close();
    await rm(home, { recursive: true, force: true });
  }
}

/** Three echo agents on the real bot. Resolves with the exit code. */
export async function runOnTelegram(token: string, user: string | undefined): Promise<number> {
  const hasUser = user !== undefined && user !== "";
  if (hasUser && !/^\d+$/.test(user))
    throw new UsageError(
      "PARTYLINE_USER must be your Telegram user id, a number; without it, a person is paired by code.",
    );
  // Says at once, and once, what is wrong with a token of no shape.
  stateFolder({ token });
  let giveUp: () => void = () => undefined;
  const isUnusable = new Promise<boolean>((resolve) => {
    giveUp = () => {
      resolve(true);
    };
  });
  const agents = new Agents({
    names,
    args: [],
    env: { TELEGRAM_BOT_TOKEN: token, ...(hasUser ? { PARTYLINE_USER: user } : {}) },
    restartAfterMs: 3_000,
    onEvent: (event) => {
      tellEvent(event);
      if (event.type === "exited" && event.isUnusable) giveUp();
    },
  });
  const inspector = await serveLine({ token }, { ...demoPage, title: "default" });
  print("Three echo agents on your bot: open its chat in Telegram and write into a thread. Ctrl-C ends them.");
  if (!hasUser) print("Nobody paired yet? Write to the bot, and run the command that it answers with.");
  print(`Inspector   ${inspector.pageUrl}\n`);
  agents.startAll();
  const hasGivenUp = await Promise.race([isUnusable, untilTold().then(() => false)]);
  await agents.stopAll();
  await inspector.close();
  return hasGivenUp ? 2 : 0;
}
