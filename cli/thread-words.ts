/**
 * What is known of each thread, in the words of the person who has to decide about it.
 *
 * Owns: those words, for `partyline threads list` and `partyline status`. Does not own: the facts (`services/status.ts`).
 */
import type { LineStatus } from "../index.ts";

type Thread = LineStatus["threads"][number];
type Seat = LineStatus["seats"][number];
type Leftover = LineStatus["leftovers"][number];
type Creation = LineStatus["creations"][number];
type Deletion = NonNullable<Thread["deletion"]>;

const span = (ms: number): string => {
  const seconds = Math.round(Math.abs(ms) / 1_000);
  return seconds < 120 ? `${String(seconds)} s` : `${String(Math.round(seconds / 60))} min`;
};
const when = (atMs: number, nowMs: number): string => (atMs <= nowMs ? "now" : `in ${span(atMs - nowMs)}`);

const whyDeleted: Readonly<Record<Deletion["reason"], string>> = {
  ended: "its instance is gone",
  left: "its instance gave it up",
  operator: "an operator gave it up",
  rerouted: "what was written there has gone to another thread",
};

function explainDeletion({ reason, dueAtMs, attempts, lastReason }: Deletion, nowMs: number): string {
  const unless = reason === "ended" && attempts === 0 ? ", unless one comes back under its seat" : "";
  const last = lastReason === null ? "" : `; attempt ${String(attempts)} failed: ${lastReason}`;
  return `${whyDeleted[reason]}: deleted ${when(dueAtMs, nowMs)}${unless}${last}`;
}

/** Telegram tells nobody that a thread was deleted: it is found out by the next message there. */
function explainUse({ seat, reason, createdAtMs, provenAtMs }: Thread, { seats }: LineStatus, nowMs: number): string {
  const why = reason === "" ? `its seat has it for ${span(nowMs - createdAtMs)}` : reason;
  const known = `${why}; Telegram last showed it ${span(nowMs - provenAtMs)} ago`;
  const place = seats.find((each) => each.seat === seat);
  if (place?.process === "unverifiable") return `${explainDoubt(place, nowMs)}; ${known}`;
  const isFree = place === undefined || place.role === "nobody";
  return `${isFree ? "nobody sits on its seat" : "in use"}, as last known: ${known}`;
}

function explainDoubt({ seat, unprovable }: Seat, nowMs: number): string {
  const since = unprovable === null ? "" : ` for ${span(nowMs - unprovable.sinceMs)}${because(unprovable.reason)}`;
  return `its process can be proven neither alive nor dead${since} (partyline seats forget ${seat})`;
}

const endings: Readonly<Record<string, string>> = {
  died: "its process died",
  left: "it left",
  stopped: "it stopped",
  forgotten: "it was given up as unprovable",
};

/** What becomes of a seat's place, when and by what; null while a process that runs sits there. */
export function explainSeat(seat: Seat, { threads }: LineStatus, nowMs: number): string | null {
  const { process, ended, endedAtMs } = seat;
  if (process === "unverifiable") return explainDoubt(seat, nowMs);
  if (ended === null)
    return process === "dead" ? "its process is gone: the leader ends it as soon as it has seen that" : null;
  const end = `${endings[ended] ?? ended}${endedAtMs === null ? "" : ` ${span(nowMs - endedAtMs)} ago`}`;
  const thread = threads.find((each) => each.seat === seat.seat);
  if (thread === undefined) return `${end}: nothing of it is left but its name, for whoever takes it again`;
  if (thread.deletion !== null) return `${end}; its thread: ${explainDeletion(thread.deletion, nowMs)}`;
  return `${end}; its thread is kept for it (partyline leave ${seat.seat} gives it up)`;
}

const because = (reason: string): string => (reason === "" ? "" : ` (${reason})`);

export function explainThread(thread: Thread, status: LineStatus, nowMs: number): string {
  const { state, reason, deletion } = thread;
  if (deletion !== null) return explainDeletion(deletion, nowMs);
  switch (state) {
    case "open":
      return explainUse(thread, status, nowMs);
    case "closed":
      return `closed in Telegram${because(reason)}: what goes there waits until it is reopened`;
    case "suspect":
      return `in doubt${because(reason)}: it is proven to exist before it is used again`;
  }
}

export const explainLeftover = ({ threadId, reason }: Leftover): string =>
  `left over: ${reason}; nothing deletes it but you (partyline threads release ${String(threadId)}, or forget)`;

export function explainCreation({ seat, status, startedAtMs }: Creation, nowMs: number): string {
  const since = `${span(nowMs - startedAtMs)} ago`;
  if (status === "unwanted") return `begun ${since} for an instance that has left: deleted if it shows up`;
  if (status === "inFlight") return `being made, begun ${since}`;
  return (
    `begun ${since}, and Telegram did not say whether it was made: none is made again until it shows up or you decide ` +
    `(partyline threads adopt ${seat} THREAD, or forget ${seat})`
  );
}

/** A line for each, threads first. */
export function threadLines(status: LineStatus, nowMs: number): string[] {
  const row = (id: string, slot: string, name: string, rest: string): string =>
    `  ${id.padEnd(8)}${slot.padEnd(3)} ${name.padEnd(16)} ${rest}`;
  return [
    ...status.threads.map((each) =>
      row(String(each.threadId), each.slot, each.name, `${each.seat}  ${explainThread(each, status, nowMs)}`),
    ),
    ...status.leftovers.map((each) => row(String(each.threadId), "", each.name, explainLeftover(each))),
    ...status.creations.map((each) => row("?", "", each.name, `${each.seat}  ${explainCreation(each, nowMs)}`)),
  ];
}

/** The same under a heading, which says so when there is none. */
export function threadSection(status: LineStatus, nowMs: number): readonly string[] {
  const lines = threadLines(status, nowMs);
  return ["threads", ...(lines.length === 0 ? ["  none"] : lines)];
}

/** The same facts for programs, each with its words. */
export const withExplanations = (status: LineStatus, nowMs: number) => ({
  threads: status.threads.map((each) => ({ ...each, explanation: explainThread(each, status, nowMs) })),
  leftovers: status.leftovers.map((each) => ({ ...each, explanation: explainLeftover(each) })),
  creations: status.creations.map((each) => ({ ...each, explanation: explainCreation(each, nowMs) })),
});
