/**
 * `partyline inspect`, `partyline record`, `partyline replay`: watching instances of this host, keeping what they do, and
 * looking at it again.
 *
 * Owns: the commands' words and ends. Does not own: the inspector (`inspector/`).
 */
import { systemClock } from "../adapters/host/clock.ts";
import { openLine, stateFolder } from "../index.ts";
import type { LineOptions, LineView } from "../index.ts";
import { announcementsIn } from "../inspector/announcements.ts";
import { recordFlight, recordLine } from "../inspector/record-line.ts";
import { RecordingError, startHub, startReplay } from "../inspector/start-hub.ts";
import type { HubInspector } from "../inspector/start-hub.ts";
import { tokenOf, UsageError } from "./options.ts";
import type { LineFlags } from "./options.ts";

const print = (line: string): void => {
  console.log(line);
};

const untilTold = (): Promise<void> =>
  new Promise((resolve) => {
    process.once("SIGINT", resolve);
    process.once("SIGTERM", resolve);
  });

const lineOf = (flags: LineFlags): LineOptions => ({
  token: tokenOf(flags),
  ...(flags.home === undefined ? {} : { home: flags.home }),
  ...(flags.profile === undefined ? {} : { profile: flags.profile }),
});

/** What a hub needs to know of a line. Its store is opened when there is one: inspecting may begin before the line does. */
function sourcesOf(line: LineOptions) {
  const folder = stateFolder(line);
  let view: Promise<LineView> | null = null;
  const opened = (): Promise<LineView> => {
    view ??= openLine(line).catch((error: unknown) => {
      view = null;
      throw error;
    });
    return view;
  };
  return {
    hub: {
      find: () => announcementsIn(folder),
      status: async () => (await opened()).status(),
      nowMs: () => systemClock().nowMs(),
    },
    close: async () => {
      await (await view?.catch(() => null))?.close();
    },
  };
}

/** The inspector's page over all instances of a line that run on this host as this user. */
export async function serveLine(
  line: LineOptions,
  page: { readonly port: number; readonly allowSend: boolean; readonly title: string },
): Promise<HubInspector> {
  const sources = sourcesOf(line);
  const inspector = await startHub({ ...sources.hub, ...page, eager: true });
  return {
    ...inspector,
    close: async () => {
      await inspector.close();
      await sources.close();
    },
  };
}

export interface InspectFlags extends LineFlags {
  readonly port: number;
  readonly allowSend?: boolean;
}

/** Serves the page until told to stop. */
export async function runInspect(flags: InspectFlags): Promise<number> {
  const inspector = await serveLine(lineOf(flags), {
    port: flags.port,
    allowSend: flags.allowSend === true,
    title: `profile ${flags.profile ?? "default"}`,
  });
  print(`Inspector   ${inspector.pageUrl}`);
  print(
    "It shows every instance of this bot and profile that runs here as you. The address holds its key: do not share it.",
  );
  if (flags.allowSend === true) print("Events can be sent to actors from the page; each is recorded.");
  print("Ctrl-C ends it.");
  await untilTold();
  await inspector.close();
  return 0;
}

export interface RecordFlags extends LineFlags {
  readonly out?: string;
  readonly seconds?: number;
  readonly flight?: boolean;
}

/** Writes a recording until told to stop, or what the flight recorders hold. */
export async function runRecord(flags: RecordFlags): Promise<number> {
  const file = flags.out ?? `partyline-${String(systemClock().nowMs())}.ndjson`;
  const sources = sourcesOf(lineOf(flags));
  const recording =
    flags.flight === true
      ? await recordFlight({ ...sources.hub, file })
      : recordLine({ ...sources.hub, file, onTrouble: (reason) => console.error(`partyline: ${reason}`) });
  if (flags.flight !== true) {
    print(`Recording to ${file}. Ctrl-C ends it.`);
    await Promise.race([untilTold(), ...(flags.seconds === undefined ? [] : [elapsed(flags.seconds)])]);
  }
  const frames = await recording.close();
  await sources.close();
  print(`${String(frames)} frames in ${file}. Look at them with: partyline replay ${file}`);
  return frames > 0 ? 0 : 1;
}

const elapsed = (seconds: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, seconds * 1_000);
  });

export async function runReplay(file: string, flags: { readonly port: number }): Promise<number> {
  try {
    const replay = await startReplay({ file, port: flags.port });
    print(`Inspector   ${replay.pageUrl}`);
    print(`It shows ${file}: ${String(replay.recording.frames.length)} frames. Ctrl-C ends it.`);
    await untilTold();
    await replay.close();
    return 0;
  } catch (error) {
    if (error instanceof RecordingError) throw new UsageError(error.message);
    if (error instanceof Error && "code" in error && error.code === "ENOENT")
      throw new UsageError(`There is no file ${file}.`);
    throw error;
  }
}
