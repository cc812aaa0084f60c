/**
 * Frames, states and times in words.
 *
 * Owns: how each is said, once for all views. Does not own: anything that is said.
 */
import type { Frame, MessageBody } from "../frames.ts";

/** Names of instances by id, as far as they are known. */
export type Names = ReadonlyMap<string, string>;

export const fieldOf = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;

export const rowsOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? (value as readonly unknown[]) : [];

export const textOf = (value: unknown): string =>
  typeof value === "string" ? value : typeof value === "number" ? String(value) : "–";

/** `2353:1796168734454` is the process 2353, until its name is known. */
export const nameOf = (names: Names, id: string): string => names.get(id) ?? id.replace(/:.*$/s, "");

/** An actor's id begins with its instance's. */
export function actorName(names: Names, id: string): string {
  const [instance = "", ...rest] = id.split("/");
  const inside = rest.map((part) => seatName(part)).join("/");
  return inside === "" ? nameOf(names, instance) : `${nameOf(names, instance)}/${inside}`;
}

/** `manual:<owner>:<name>` is the seat of that name. */
export const seatName = (seat: string): string =>
  seat.startsWith("manual:") ? (seat.split(":").at(-1) ?? seat) : seat;

export const valueText = (value: unknown): string => {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return "";
  return Object.entries(value)
    .map(([key, inner]) => (valueText(inner) === "" ? key : `${key}.${valueText(inner)}`))
    .join(", ");
};

/** A transition's event in words. */
export function eventText(event: string): string {
  if (event === "") return "at once";
  if (event.startsWith("xstate.after.")) return `after ${event.slice(13).split(".")[0] ?? ""}`;
  if (event.startsWith("xstate.done.actor.")) return `${event.slice(18).split(".").at(-1) ?? ""} done`;
  if (event.startsWith("xstate.error.actor.")) return `${event.slice(19).split(".").at(-1) ?? ""} failed`;
  if (event.startsWith("xstate.done.state.")) return `${event.slice(18).split(".").at(-1) ?? ""} complete`;
  if (event === "xstate.promise.resolve") return "its result";
  if (event === "xstate.promise.reject") return "its error";
  if (event === "xstate.init") return "its start";
  if (event === "xstate.stop") return "being stopped";
  return event;
}

export const isMessage = (frame: Frame): frame is Frame & MessageBody => frame.kind === "message";

export function typeOf(event: unknown): string {
  const type = fieldOf(event, "type");
  return typeof type === "string" ? type : "";
}

export function frameText(frame: Frame, names: Names): string {
  switch (frame.kind) {
    case "event":
      return `${actorName(names, frame.actor.id)} is sent ${eventText(typeOf(frame.event))}`;
    case "transition":
      return `${actorName(names, frame.actor.id)} → ${valueText(frame.value)}, for ${eventText(frame.event)}`;
    case "snapshot": {
      const rests = `${actorName(names, frame.actor.id)} rests in ${valueText(frame.value)}`;
      if (frame.status === "active")
        return frame.value === undefined ? `${actorName(names, frame.actor.id)} goes on` : rests;
      return `${actorName(names, frame.actor.id)} has ended: ${frame.status}${frame.value === undefined ? "" : `, in ${valueText(frame.value)}`}`;
    }
    case "actor":
      return `${actorName(names, frame.actor.id)} begins`;
    case "message":
      return messageText(frame, names);
    case "note":
      return frame.text;
    case "source":
      return `${frame.name ?? nameOf(names, frame.id)} is ${frame.state}${frame.reason === undefined ? "" : `: ${frame.reason}`}`;
    case "verdict":
      return frame.broken.length === 0 ? "nothing is broken" : `broken: ${frame.broken.join(", ")}`;
    case "dropped":
      return `${frame.dropped} frame${frame.dropped === 1 ? " was" : "s were"} left out here`;
    case "welcome":
      return "how everything stands";
    case "line":
      return "how the line stands";
    default:
      return frame.kind;
  }
}

const places: Readonly<Record<string, string>> = { telegram: "Telegram", journal: "the journal", host: "its handler" };

function messageText(frame: Frame & MessageBody, names: Names): string {
  const peer = frame.peer === undefined ? (places[frame.way] ?? frame.way) : nameOf(names, frame.peer);
  const arrow = frame.way === "in" ? "←" : "→";
  const about = [
    frame.updates === undefined ? "" : ` update ${frame.updates.join(", ")}`,
    frame.thread === undefined ? "" : ` thread ${frame.thread}`,
  ].join("");
  const outcome = frame.phase === "begin" ? "" : `: ${frame.outcome ?? "done"}`;
  return `${nameOf(names, frame.by)} ${arrow} ${peer} ${frame.name}${about}${outcome}`;
}

export const clockText = (atMs: number | undefined): string =>
  atMs === undefined ? "" : new Date(atMs).toISOString().slice(11, 23);

export function spanText(ms: number): string {
  if (!Number.isFinite(ms)) return "–";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60
    ? `${minutes} min ${Math.floor((ms % 60_000) / 1_000)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
