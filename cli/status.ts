/**
 * `partyline status`: who leads, the seats and threads, the journal, the poller; what is wrong comes first.
 */
import { systemClock } from "../adapters/host/clock.ts";
import { readStatus } from "../index.ts";
import type { LineStatus } from "../index.ts";
import { lineOf } from "./line.ts";
import type { LineFlags } from "./options.ts";
import { explainSeat, threadSection, withExplanations } from "./thread-words.ts";
import { nameOf } from "./pair.ts";

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

function problemsOf(status: LineStatus, nowMs: number): string[] {
  const problems: string[] = [];
  const { leader, polling } = status;
  if (leader === null) problems.push("nobody leads: no instance is running, or one is about to take over");
  else if (leader.process === "dead")
    problems.push(`the leader's process ${String(leader.pid)} is gone; a running instance takes over`);
  else if (leader.leaseRemainingMs <= 0)
    problems.push("the leader has not renewed its lease; a running instance takes over");
  if (leader !== null && polling.health !== "ok") problems.push(`polling: ${polling.health}`);
  if (leader !== null && polling.okAtMs !== null && nowMs - polling.okAtMs > 75_000)
    problems.push(`the last successful poll was ${seconds(nowMs - polling.okAtMs)} ago`);
  const { asking } = status.pairing;
  if (asking > 0)
    problems.push(
      `${String(asking)} ${asking === 1 ? "person asks" : "people ask"} to be paired: see partyline pair list`,
    );
  if (status.journal.deadLetters > 0)
    problems.push(`${String(status.journal.deadLetters)} dead letters: see partyline dead`);
  for (const seat of status.seats)
    if (seat.process === "unverifiable")
      problems.push(`${seat.seat}: its process can be proven neither alive nor dead`);
  return [...problems, ...status.unresolved];
}

function seatLine(status: LineStatus, seat: LineStatus["seats"][number], nowMs: number): string {
  const thread = status.threads.find((each) => each.seat === seat.seat);
  const where =
    thread === undefined ? "no thread" : `${thread.slot} "${thread.name}" (thread ${String(thread.threadId)})`;
  const who = seat.pid === null ? "nobody" : `pid ${String(seat.pid)}, ${seat.process ?? "unknown"}`;
  const end = explainSeat(seat, status, nowMs);
  return `  ${seat.role.padEnd(8)}  ${where.padEnd(32)}  ${who}${end === null ? "" : `; ${end}`}`;
}

export function statusText(status: LineStatus, nowMs: number): string {
  const { leader, journal, polling } = status;
  const { paired } = status.pairing;
  const problems = problemsOf(status, nowMs);
  const drops = Object.entries(status.drops);
  const polled = polling.okAtMs === null ? "never" : `${seconds(nowMs - polling.okAtMs)} ago`;
  return [
    ...(problems.length === 0 ? ["ok"] : problems.map((problem) => `! ${problem}`)),
    leader === null
      ? `leader    none, last epoch ${String(status.epoch)}`
      : `leader    pid ${String(leader.pid)}, epoch ${String(status.epoch)}, leading for ${seconds(nowMs - leader.sinceMs)}, lease ends in ${seconds(leader.leaseRemainingMs)}`,
    `polling   ${polling.health}, last success ${polled}, next update ${status.cursor === null ? "from the oldest" : String(status.cursor)}`,
    `journal   ${String(journal.waiting)} waiting, ${String(journal.claimed)} in hand, ${String(journal.deadLetters)} dead letters`,
    ...status.chatMoves.map(
      ({ from, to, atMs }) =>
        `chat      ${String(from)} became ${String(to)} ${seconds(nowMs - atMs)} ago: the line works there`,
    ),
    ...(paired === null ? [] : [`paired    ${nameOf(paired)}`]),
    "seats",
    ...(status.seats.length === 0 ? ["  none"] : status.seats.map((seat) => seatLine(status, seat, nowMs))),
    ...threadSection(status, nowMs),
    "dropped",
    ...(drops.length === 0
      ? ["  nothing"]
      : drops.map(([reason, count]) => `  ${String(count).padStart(6)}  ${reason}`)),
  ].join("\n");
}

export async function printStatus(flags: LineFlags & { readonly json?: boolean }): Promise<number> {
  const status = await readStatus(lineOf(flags));
  const nowMs = systemClock().nowMs();
  const seats = status.seats.map((each) => ({ ...each, explanation: explainSeat(each, status, nowMs) }));
  console.log(
    flags.json === true
      ? JSON.stringify({ ...status, ...withExplanations(status, nowMs), seats })
      : statusText(status, nowMs),
  );
  return 0;
}
