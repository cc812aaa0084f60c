/**
 * Options that every command shares, from flags and environment.
 *
 * Owns: where a value comes from (flag, then environment, then default) and the sentence when it is missing or bad.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { InvalidArgumentError, Option } from "commander";
import type { Command } from "commander";
import { systemClock } from "../adapters/host/clock.ts";
import { createLog, stderrWriter } from "../adapters/host/log.ts";
import type { LogLevel } from "../adapters/host/log.ts";
import { redactor } from "../adapters/host/redact.ts";
import type { Instance, InstanceOptions, Log } from "../index.ts";

export interface LineFlags {
  readonly token?: string;
  readonly tokenFile?: string;
  readonly apiRoot?: string;
  readonly home?: string;
  readonly profile?: string;
  readonly name?: string;
  readonly user?: number;
  readonly chat?: number;
  readonly ack?: "auto" | "explicit";
  readonly v1Home?: string;
  readonly threadGrace?: number;
  readonly keepThread?: boolean;
  readonly unprovableAfter?: number;
  readonly lostThreads?: "replace" | "notify";
  readonly closedThreads?: "wait" | "reopen";
  readonly logLevel: LogLevel;
  readonly inspect?: boolean;
  readonly flightRecorder?: number;
}

/** A command line that cannot be carried out; the message says what to do. Exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError("It must be a whole number.");
  return value;
}

/** A duration such as `500ms`, `30s`, `10m`, `2h`, in milliseconds. */
export function duration(text: string): number {
  const [, digits, unit] = /^(\d+)(ms|s|m|h)$/.exec(text) ?? [];
  if (digits === undefined || unit === undefined)
    throw new InvalidArgumentError("It must be a duration: 500ms, 30s, 10m or 2h.");
  const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[unit];
  return Number(digits) * (unitMs ?? 1);
}

export function portNumber(text: string): number {
  const port = wholeNumber(text);
  if (port < 0 || port > 65_535) throw new InvalidArgumentError("It must be a port: 0 to 65535, 0 = any free one.");
  return port;
}

/**
 * The command that a group runs when none is named. A word that names none is told of as that: it would be counted as an
 * argument too many of a command that nobody wrote.
 */
export function defaultOf(group: Command, name: string): Command {
  const command = group.command(name, { isDefault: true }).allowExcessArguments(true);
  return command.hook("preAction", () => {
    const taken = command.registeredArguments.length;
    const extra = command.args[taken];
    if (extra === undefined) return;
    if (taken > 0 || group.args[0] === name)
      command.error(`error: '${group.name()} ${name}' takes no argument '${extra}'`);
    const known = group.commands.map((each) => each.name()).join(", ");
    command.error(`error: unknown command '${group.args[0] ?? extra}' for '${group.name()}'; there are: ${known}`);
  });
}

/** Flags that say which line: bot, profile, state. */
export function withLine(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--token <token>",
        "the bot's token, from @BotFather; visible to others on this machine in the process list, so better set the variable",
      ).env("TELEGRAM_BOT_TOKEN"),
    )
    .addOption(
      new Option(
        "--token-file <file>",
        "file with the bot's token; an instance reads it again when Telegram rejects the token, and on SIGHUP",
      ).env("TELEGRAM_BOT_TOKEN_FILE"),
    )
    .addOption(
      new Option("--home <folder>", "state folder (default: the platform's place for state)").env("PARTYLINE_HOME"),
    )
    .addOption(new Option("--profile <name>", "a separate line of the same bot").default("default"));
}

/** Flags of a command that puts an instance on the line. */
export function withInstance(command: Command): Command {
  return withLine(command)
    .addOption(
      new Option("--api-root <url>", "Bot API server (default: https://api.telegram.org)").env("PARTYLINE_API_ROOT"),
    )
    .addOption(
      new Option(
        "--user <id>",
        "Telegram user id of the one person who may write to the bot (default: whoever is paired, see partyline pair)",
      )
        .env("PARTYLINE_USER")
        .argParser(wholeNumber),
    )
    .addOption(
      new Option("--chat <id>", "chat whose threads are used (default: the private chat with that person)").argParser(
        wholeNumber,
      ),
    )
    .addOption(
      new Option("--thread-grace <duration>", "how long the thread outlives the process (default: 10m)").argParser(
        duration,
      ),
    )
    .addOption(new Option("--keep-thread", "never delete the thread for the end of the process"))
    .addOption(
      new Option(
        "--unprovable-after <duration>",
        "a seat's holder counts as gone after so long without proof (default: never)",
      ).argParser(duration),
    )
    .addOption(
      new Option(
        "--lost-threads <policy>",
        "while this instance leads: a thread that you delete is replaced, or you are told in the main chat (default: replace)",
      ).choices(["replace", "notify"]),
    )
    .addOption(
      new Option(
        "--closed-threads <policy>",
        "while this instance leads: words for a thread that you closed wait until it is open, or open it (default: wait)",
      ).choices(["wait", "reopen"]),
    )
    .addOption(new Option("--inspect", "serve the inspector's page from this process"))
    .addOption(
      new Option(
        "--flight-recorder <megabytes>",
        "keep the last megabytes of what happened in memory; written to the state folder on a crash and on SIGUSR2",
      ).argParser(wholeNumber),
    )
    .addOption(new Option("--name <name>", "keeps seat and thread across restarts (default: unnamed)"))
    .addOption(
      new Option(
        "--v1-home <folder>",
        "joins the fleet of v1 processes that share this agent folder (default: no v1 peers)",
      ).env("PARTYLINE_V1_HOME"),
    )
    .addOption(
      new Option("--log-level <level>", "lowest level written to stderr")
        .choices(["debug", "info", "warn", "error"])
        .default("warn"),
    );
}

const isFromFile = ({ token }: Pick<LineFlags, "token">): boolean => token === undefined || token.trim() === "";

/** SIGHUP reads the token file again, where there is one; without one a hang-up ends the process, as ever. */
export function renewOnHangUp({ tokenFile }: InstanceOptions, instance: Instance): void {
  if (tokenFile !== undefined) process.on("SIGHUP", () => void instance.renewToken());
}

/** The token, or a sentence that says where to put it. */
export function tokenOf(flags: Pick<LineFlags, "token" | "tokenFile">): string {
  if (flags.token !== undefined && flags.token.trim() !== "") return flags.token.trim();
  if (flags.tokenFile === undefined)
    throw new UsageError("There is no bot token: set TELEGRAM_BOT_TOKEN, or pass --token-file FILE.");
  try {
    return readFileSync(flags.tokenFile, "utf8").trim();
  } catch (error) {
    throw new UsageError(`The token file ${flags.tokenFile} cannot be read: ${String(error)}`);
  }
}

export function logFor(token: string, level: LogLevel): Log {
  const clock = systemClock();
  return createLog({
    write: stderrWriter(),
    level,
    format: "readable",
    redact: redactor(() => [token]),
    nowMs: () => clock.nowMs(),
  });
}

/** The options of `createInstance` from a command's flags. */
export function instanceOptions(flags: LineFlags): InstanceOptions {
  const token = tokenOf(flags);
  const { apiRoot, home, profile, name, user, chat, ack, v1Home, inspect, flightRecorder } = flags;
  return {
    token,
    ...(isFromFile(flags) && flags.tokenFile !== undefined ? { tokenFile: path.resolve(flags.tokenFile) } : {}),
    log: logFor(token, flags.logLevel),
    ...(apiRoot === undefined ? {} : { apiRoot }),
    ...(home === undefined ? {} : { home }),
    ...(profile === undefined ? {} : { profile }),
    ...(name === undefined ? {} : { name }),
    ...(user === undefined ? {} : { user }),
    ...(chat === undefined ? {} : { chat }),
    ...(ack === undefined ? {} : { ack }),
    ...(flags.threadGrace === undefined ? {} : { threadGraceMs: flags.threadGrace }),
    ...(flags.keepThread === undefined ? {} : { keepThread: flags.keepThread }),
    ...(flags.unprovableAfter === undefined ? {} : { unprovableAfterMs: flags.unprovableAfter }),
    ...(flags.closedThreads === undefined ? {} : { closedThreads: flags.closedThreads }),
    ...(flags.lostThreads === undefined ? {} : { lostThreads: flags.lostThreads }),
    ...(v1Home === undefined ? {} : { compat: { agentDir: path.resolve(v1Home) } }),
    inspect: {
      page: inspect === true,
      ...(flightRecorder === undefined ? {} : { flightMb: flightRecorder, flightSignal: "SIGUSR2" }),
    },
  };
}
