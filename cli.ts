/**
 * The command line: parses, calls, prints, sets the exit code.
 *
 * Exit codes: 0 done, 1 failed, 2 used wrongly or cannot start with these options.
 */
import { Command, Option } from "commander";
import { discardDead, listDead, retryDead } from "./cli/dead.ts";
import type { DeadFlags } from "./cli/dead.ts";
import { runDemo, runOnTelegram } from "./cli/demo.ts";
import { runEchoAgent } from "./cli/echo-agent.ts";
import { runInspect, runRecord, runReplay } from "./cli/inspect.ts";
import type { InspectFlags, RecordFlags } from "./cli/inspect.ts";
import { runDoctor } from "./cli/doctor.ts";
import type { DoctorFlags } from "./cli/doctor.ts";
import { runEmulator } from "./cli/emulator.ts";
import { runNdjson } from "./cli/ndjson.ts";
import {
  defaultOf,
  instanceOptions,
  portNumber,
  UsageError,
  wholeNumber,
  withInstance,
  withLine,
} from "./cli/options.ts";
import type { LineFlags } from "./cli/options.ts";
import { approvePairing, listPairing, rejectPairing, revokePairing } from "./cli/pair.ts";
import type { PairFlags } from "./cli/pair.ts";
import { cancelWork, listQueue, offerWork } from "./cli/queue.ts";
import type { QueueFlags } from "./cli/queue.ts";
import { printStatus } from "./cli/status.ts";
import { adoptThread, forgetSeat, forgetThread, leaveSeat, listThreads, releaseThread } from "./cli/threads.ts";
import type { ThreadsFlags } from "./cli/threads.ts";
import { StartError, version } from "./index.ts";

function addRun(program: Command): void {
  withInstance(program.command("run"))
    .description("put one instance on the line and talk to it on stdin and stdout")
    .requiredOption("--ndjson", "one JSON object a line: updates, roles and results out, acks and calls in")
    .addOption(
      new Option("--ack <mode>", "when an update is settled: before it is handed out, or on your ack")
        .choices(["auto", "explicit"])
        .default("auto"),
    )
    .addHelpText(
      "after",
      '\nstdout: {"type":"ready",…} {"type":"role",…} {"type":"update","id",…} {"type":"result","id",…} {"type":"error",…}' +
        '\nstdin:  {"type":"ack","id":"7"} {"type":"call","id":1,"method":"sendMessage","payload":{"text":"hi"}}\n',
    )
    .action(async (flags: LineFlags) => {
      process.exitCode = await runNdjson(instanceOptions(flags), { input: process.stdin, output: process.stdout });
    });
}

function addDemo(program: Command): void {
  const headless = new Option("--headless", "play a scripted round as text, kill -9 of the leader included");
  const port = new Option("--port <port>", "port of the chat page").argParser(portNumber).default(0, "any free one");
  program
    .command("demo")
    .description("three echo agents on an embedded Bot API emulator, with a chat page")
    .addOption(headless)
    .addOption(port)
    .action(async (flags: { headless?: boolean; port: number }) => {
      process.exitCode = await runDemo(flags);
    });
  program
    .command("start")
    .description("the demo; with TELEGRAM_BOT_TOKEN set, three echo agents on your bot")
    .addOption(headless)
    .addOption(port)
    .action(async (flags: { headless?: boolean; port: number }) => {
      const token = process.env["TELEGRAM_BOT_TOKEN"];
      const isReal = token !== undefined && token !== "" && flags.headless !== true;
      process.exitCode = isReal ? await runOnTelegram(token, process.env["PARTYLINE_USER"]) : await runDemo(flags);
    });
}

function addTools(program: Command): void {
  withLine(program.command("status"))
    .description("who leads, the seats and threads, the journal, the poller")
    .option("--json", "as one JSON object")
    .action(async (flags: LineFlags & { json?: boolean }) => {
      process.exitCode = await printStatus(flags);
    });
  withLine(program.command("doctor"))
    .description("whether the store can be used; --recover saves what can be read of a damaged one")
    .option(
      "--recover",
      "set a damaged store aside and make a new one of what can be read; all instances must be stopped",
    )
    .option("--yes", "do not ask")
    .option("--json", "as one JSON object")
    .addHelpText("after", "\nExit codes: 0 the store can be used, 1 it cannot, 2 used wrongly.\n")
    .action(async (flags: DoctorFlags) => {
      process.exitCode = await runDoctor(flags);
    });
  program
    .command("emulator")
    .description("a Bot API server to develop and test against")
    .addOption(new Option("--port <port>", "port").argParser(portNumber).default(0, "any free one"))
    .addOption(
      new Option("--token <token>", "the token it accepts").default("700001:emulator-token-for-local-use-only"),
    )
    .addOption(new Option("--owner <id>", "user id of the person who chats").argParser(wholeNumber).default(5_550_001))
    .action(async (flags: { port: number; token: string; owner: number }) => {
      process.exitCode = await runEmulator(flags);
    });
  withInstance(program.command("echo-agent", { hidden: true })).action(async (flags: LineFlags) => {
    process.exitCode = await runEchoAgent(instanceOptions(flags));
  });
}

/** What the leader is asked for; it answers while it runs, or the next one does. */
function withRequest(command: Command): Command {
  return withLine(command)
    .option("--json", "as one JSON object")
    .addOption(new Option("--chat <id>", "chat of a thread that the line does not know").argParser(wholeNumber))
    .addOption(
      new Option("--wait <seconds>", "how long to wait for a leader's answer").argParser(wholeNumber).default(15),
    )
    .addHelpText(
      "after",
      "\nA seat is named as partyline threads lists it, or by the name at its end; a thread by its number there." +
        "\nThe leader carries the request out, and refuses what a running instance holds. Without a leader the request is" +
        "\nkept for the next one. Exit codes: 0 done, 1 refused or not answered in time, 2 used wrongly.\n",
    );
}

function addOperator(program: Command): void {
  const threads = program
    .command("threads")
    .description("the threads: what is known of each, and what evidence cannot decide");
  withLine(defaultOf(threads, "list"))
    .description("every thread with its seat, its state and the last reason")
    .option("--json", "as one JSON object")
    .action(async (flags: ThreadsFlags) => {
      process.exitCode = await listThreads(flags);
    });
  withRequest(threads.command("adopt"))
    .argument("<seat>")
    .argument("<thread>")
    .description("bind a thread that exists to a seat; ends a creation with an unknown outcome")
    .action(async (seat: string, thread: string, flags: ThreadsFlags) => {
      process.exitCode = await adoptThread(seat, thread, flags);
    });
  withRequest(threads.command("release"))
    .argument("<thread>")
    .description("delete a thread that no running instance holds")
    .action(async (thread: string, flags: ThreadsFlags) => {
      process.exitCode = await releaseThread(thread, flags);
    });
  withRequest(threads.command("forget"))
    .argument("<what>")
    .description("take a thread off the books and leave it in Telegram, or, given a seat, end a creation in doubt")
    .action(async (what: string, flags: ThreadsFlags) => {
      process.exitCode = await forgetThread(what, flags);
    });
  withRequest(program.command("leave"))
    .argument("<seat>")
    .description("give up the thread of a seat whose instance has stopped, without waiting for its grace time")
    .action(async (seat: string, flags: ThreadsFlags) => {
      process.exitCode = await leaveSeat(seat, flags);
    });
  const seats = program.command("seats").description("the seats");
  withRequest(seats.command("forget"))
    .argument("<seat>")
    .description("a holder that can be proven neither alive nor dead counts as gone; its thread's grace time begins")
    .action(async (seat: string, flags: ThreadsFlags) => {
      process.exitCode = await forgetSeat(seat, flags);
    });
}

function addQueue(program: Command): void {
  const queue = program.command("queue").description("updates that are not settled yet, and moving them");
  withLine(defaultOf(queue, "list"))
    .description("each with its thread, its age, and who has it in hand; oldest first")
    .option("--json", "as one JSON object")
    .addOption(new Option("--limit <number>", "how many").argParser(wholeNumber).default(100))
    .action(async (flags: QueueFlags) => {
      process.exitCode = await listQueue(flags);
    });
  withLine(queue.command("offer"))
    .argument("<id>")
    .argument("<seat>")
    .description("move an update to another instance; one that is worked on stays where it is")
    .option("--json", "as one JSON object")
    .addOption(new Option("--wait <seconds>", "how long to wait for its holder").argParser(wholeNumber).default(15))
    .action(async (id: string, seat: string, flags: QueueFlags) => {
      process.exitCode = await offerWork(id, seat, flags);
    });
  withLine(queue.command("cancel"))
    .argument("<id>")
    .description("end an offer that nobody has accepted, and a wish that was not heard yet")
    .option("--json", "as one JSON object")
    .action(async (id: string, flags: QueueFlags) => {
      process.exitCode = await cancelWork(id, flags);
    });
}

function addDead(program: Command): void {
  const dead = program
    .command("dead")
    .description("updates that were set aside: nobody took them, or their handler kept failing");
  const withLetters = (command: Command): Command => withLine(command).option("--json", "as one JSON object");
  withLetters(defaultOf(dead, "list"))
    .description("each with its reason, its age, its thread and how often it was tried")
    .action(async (flags: DeadFlags) => {
      process.exitCode = await listDead(flags);
    });
  withLetters(dead.command("retry"))
    .argument("[id...]")
    .option("--all", "every one of them")
    .description("put them back: each is handled like a new update, once")
    .action(async (ids: string[], flags: DeadFlags) => {
      process.exitCode = await retryDead(ids, flags);
    });
  withLetters(dead.command("discard"))
    .argument("[id...]")
    .option("--all", "every one of them")
    .option("--yes", "do not ask")
    .description("end them for good")
    .action(async (ids: string[], flags: DeadFlags) => {
      process.exitCode = await discardDead(ids, flags);
    });
}

function addPair(program: Command): void {
  const pair = program
    .command("pair")
    .description("who may write to the bot, where no --user is given: approve a code that the bot told, list, revoke");
  const withPairing = (command: Command): Command => withLine(command).option("--json", "as one JSON object");
  withPairing(defaultOf(pair, "approve"))
    .argument("[code]")
    .description("pair the person whom the bot told this code; running instances take it up within a second")
    .action(async (code: string | undefined, flags: PairFlags) => {
      process.exitCode = await (code === undefined ? listPairing(flags) : approvePairing(code, flags));
    });
  withPairing(pair.command("list"))
    .description("who is paired, and who asks, each with the code")
    .action(async (flags: PairFlags) => {
      process.exitCode = await listPairing(flags);
    });
  withPairing(pair.command("reject"))
    .argument("<code>")
    .description("say no; the person is not answered again for a while")
    .action(async (code: string, flags: PairFlags) => {
      process.exitCode = await rejectPairing(code, flags);
    });
  withPairing(pair.command("revoke"))
    .description("nobody is paired from here on: nothing that anybody writes has an effect")
    .action(async (flags: PairFlags) => {
      process.exitCode = await revokePairing(flags);
    });
}

function addInspector(program: Command): void {
  const port = (): Option =>
    new Option("--port <port>", "port of the page").argParser(portNumber).default(0, "any free one");
  withLine(program.command("inspect"))
    .description("the statecharts of all instances on this machine, live, on a page")
    .addOption(port())
    .option("--allow-send", "let the page send events to actors")
    .action(async (flags: InspectFlags) => {
      process.exitCode = await runInspect(flags);
    });
  withLine(program.command("record"))
    .description("write what all instances on this machine do to a file, for replay")
    .option("--out <file>", "the file (default: partyline-<time>.ndjson); older parts get .1, .2, … behind it")
    .addOption(new Option("--seconds <number>", "end by itself").argParser(wholeNumber))
    .option("--flight", "write what the instances' flight recorders hold, instead of what comes")
    .action(async (flags: RecordFlags) => {
      process.exitCode = await runRecord(flags);
    });
  program
    .command("replay <file>")
    .description("look at a recording, or at a trace of the model checker, on the inspector's page")
    .addOption(port())
    .action(async (file: string, flags: { port: number }) => {
      process.exitCode = await runReplay(file, flags);
    });
}

function explain(error: unknown): number {
  if (error instanceof UsageError || error instanceof StartError) {
    console.error(`partyline: ${error.message}`);
    return 2;
  }
  console.error("partyline: a defect in partyline itself:", error instanceof Error ? error.message : String(error));
  return 1;
}

const program = new Command("partyline")
  .description("Many agent processes share one Telegram bot: one leads, each has its own thread.")
  .version(version)
  .showHelpAfterError("(partyline --help shows what there is)")
  .exitOverride((error) => {
    process.exit(error.exitCode === 0 ? 0 : 2);
  });
addRun(program);
addDemo(program);
addTools(program);
addOperator(program);
addQueue(program);
addDead(program);
addPair(program);
addInspector(program);

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = explain(error);
}
