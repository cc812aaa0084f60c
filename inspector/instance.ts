/**
 * What makes one instance watchable: its tap, the announcement of it, the flight recorder, and a page if it is to have one.
 *
 * Owns: opening them together and closing them. Does not own: any of them.
 *
 * Invariants: an instance that cannot be watched runs all the same (`onTrouble` is told why); with nobody attached and no
 * flight recorder, what the charts do is only counted.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { InspectionEvent } from "xstate";
import { announce, announcementsIn, sweepAnnouncements, withdraw } from "./announcements.ts";
import type { MessageBody } from "./frames.ts";
import { startHub } from "./start-hub.ts";
import type { HubInspector } from "./start-hub.ts";
import { inspectorRedact } from "./redact.ts";
import { openTap } from "./tap.ts";
import type { Tap } from "./tap.ts";

export interface InspectSettings {
  /** Serve the page from this process; it shows all instances of the profile. Default false. */
  readonly page?: boolean;
  /** Port of the page. Default 0: any free one. */
  readonly port?: number;
  /** The page may send events to actors. Default false. */
  readonly allowSend?: boolean;
  /** Show what people write. Default false. */
  readonly showTexts?: boolean;
  /** Keep the last so many megabytes of what happened, always. Default 0: do not. */
  readonly flightMb?: number;
  /** Signal at which the flight recorder is written to disk; it is written when the process crashes, too. Default none. */
  readonly flightSignal?: "SIGUSR1" | "SIGUSR2";
}

export interface InspectionParts {
  /** The profile's folder. */
  readonly folder: string;
  readonly instance: string;
  readonly name: string | null;
  readonly settings: InspectSettings;
  /** Removes tokens and exact secrets; see `inspectorRedact`. */
  readonly plain: (value: unknown) => unknown;
  readonly nowMs: () => number;
  readonly stopwatchMs: () => number;
  readonly status: () => Promise<unknown>;
  readonly onTrouble: (reason: string) => void;
}

export interface Inspection {
  readonly observe: (event: InspectionEvent) => void;
  readonly message: (message: Omit<MessageBody, "kind">) => void;
  /** Address of the page with its token; null without one. */
  readonly pageUrl: string | null;
  /** Resolves when nothing of it is left. */
  close(): Promise<void>;
}

/** Does nothing, costs nothing. */
export const noInspection: Inspection = {
  observe: () => undefined,
  message: () => undefined,
  pageUrl: null,
  close: () => Promise.resolve(),
};

/** Never rejects. */
async function openInspection(parts: InspectionParts): Promise<Inspection> {
  const { settings, folder, instance } = parts;
  try {
    const tap = await openTap({
      redact: inspectorRedact({ plain: parts.plain, showTexts: settings.showTexts === true }),
      nowMs: parts.nowMs,
      stopwatchMs: parts.stopwatchMs,
      flightMb: settings.flightMb ?? 0,
    });
    await sweepAnnouncements(folder);
    const { port, token } = tap;
    await announce(folder, { version: 1, instance, name: parts.name, pid: process.pid, port, token });
    const page = settings.page === true ? await openPage(parts) : null;
    const endFlight = watchForCrash(tap, parts);
    return {
      observe: tap.observe,
      message: tap.message,
      pageUrl: page?.pageUrl ?? null,
      async close() {
        endFlight();
        tap.close();
        await withdraw(folder, instance);
        await page?.close();
      },
    };
  } catch (error) {
    parts.onTrouble(error instanceof Error ? error.message : String(error));
    return noInspection;
  }
}

/** A function of the host's is called by itself; everything else is a tap. Never rejects. */
export function openWatching(
  inspect: boolean | InspectSettings | ((event: InspectionEvent) => void) | undefined,
  parts: Omit<InspectionParts, "settings">,
): Promise<Inspection> {
  if (typeof inspect === "function") return Promise.resolve({ ...noInspection, observe: inspect });
  if (inspect === false) return Promise.resolve(noInspection);
  return openInspection({ ...parts, settings: inspect === true ? { page: true } : (inspect ?? {}) });
}

const openPage = ({ settings, folder, status, nowMs, instance, onTrouble }: InspectionParts): Promise<HubInspector> =>
  startHub({
    find: () => announcementsIn(folder),
    status,
    nowMs,
    eager: false,
    onTrouble,
    port: settings.port ?? 0,
    allowSend: settings.allowSend === true,
    title: `instance ${instance}`,
  });

/** Writes the flight recorder when the process dies of an exception, and at the signal. Returns what ends that. */
function watchForCrash(tap: Tap, { folder, instance, settings, nowMs, onTrouble }: InspectionParts): () => void {
  const { flight } = tap;
  if (flight === null) return () => undefined;
  const write = (): void => {
    try {
      const target = path.join(folder, "flight");
      mkdirSync(target, { recursive: true, mode: 0o700 });
      const file = path.join(target, `${instance.replace(/[^A-Za-z0-9_-]/g, "_")}-${nowMs()}.ndjson`);
      writeFileSync(file, `${flight.lines().join("\n")}\n`, { mode: 0o600 });
      onTrouble(`the flight recorder was written to ${file}`);
    } catch (error) {
      onTrouble(`the flight recorder could not be written: ${String(error)}`);
    }
  };
  const { flightSignal } = settings;
  process.on("uncaughtExceptionMonitor", write);
  if (flightSignal !== undefined) process.on(flightSignal, write);
  return () => {
    process.off("uncaughtExceptionMonitor", write);
    if (flightSignal !== undefined) process.off(flightSignal, write);
  };
}
