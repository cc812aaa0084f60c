/**
 * The demo's scripted round: three threads answer, the leader is killed the hard way, a thread is deleted mid-answer,
 * nothing is lost or doubled.
 *
 * Owns: the script and its checks, printed one a line. Each wait has a ceiling and reports the measured time.
 */
import { systemClock } from "../adapters/host/clock.ts";
import type { Emulator } from "../adapters/telegram/emulator/index.ts";
import type { Agents, AgentState } from "./demo-agents.ts";

const ceilingMs = 30_000;
const lookMs = 5;
const clock = systemClock();

export interface Round {
  readonly emulator: Emulator;
  readonly agents: Agents;
  readonly names: readonly string[];
  readonly print: (line: string) => void;
  /** How long a thread outlives its process. */
  readonly graceMs: number;
}

async function until(condition: () => boolean): Promise<number> {
  const startedAt = clock.elapsedMs();
  while (!condition()) {
    if (clock.elapsedMs() - startedAt > ceilingMs) return Infinity;
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
  return clock.elapsedMs() - startedAt;
}

/** Runs the round; resolves with the number of checks that did not hold. */
export async function playRound(round: Round): Promise<number> {
  const { emulator, agents, names, print } = round;
  let failed = 0;
  const check = (what: string, holds: boolean): void => {
    if (!holds) failed += 1;
    print(`${holds ? "  ok  " : "FAILED"}  ${what}`);
  };
  const isReady = (): boolean => agents.all().filter((each) => each.threadId !== null).length === names.length;
  const ms = (value: number): string => (Number.isFinite(value) ? `${value.toFixed(0)} ms` : "never");
  /** The one that was killed counts no more, whether or not its end has been noticed yet. */
  let killed: string | null = null;
  const leaders = (): readonly AgentState[] =>
    agents.all().filter((each) => each.role === "leader" && each.name !== killed);
  const threadOf = new Map<string, number>();
  const answers = (text: string): number =>
    emulator.control.messages({}).filter((message) => message.from.isBot && message.text.endsWith(`: ${text}`)).length;
  const say = (name: string, text: string): void => {
    const threadId = threadOf.get(name);
    if (threadId !== undefined) emulator.control.userSends({ threadId, text });
  };

  const startedIn = await until(isReady);
  check(`${String(names.length)} instances are on the line (${ms(startedIn)})`, isReady());
  for (const { name, threadId } of agents.all()) if (threadId !== null) threadOf.set(name, threadId);
  check("each has a thread of its own", new Set(threadOf.values()).size === names.length);
  check("one leads", leaders().length === 1);
  if (failed > 0) return failed;

  for (const name of names) say(name, `hello ${name}`);
  const answeredIn = await until(() => names.every((name) => answers(`hello ${name}`) > 0));
  check(
    `each thread is answered (${ms(answeredIn)})`,
    names.every((name) => answers(`hello ${name}`) === 1),
  );

  const [leader] = leaders();
  if (leader === undefined) return failed + 1;
  print(`        kill -9 ${String(leader.pid)}: that was ${leader.name}, the leader of epoch ${String(leader.epoch)}`);
  killed = leader.name;
  agents.kill(leader.name);
  for (const name of names) say(name, `still there, ${name}?`);
  const others = names.filter((name) => name !== leader.name);
  const tookOverIn = await until(() => leaders().some((each) => each.epoch > leader.epoch));
  const [successor] = leaders();
  check(
    `another leads (${ms(tookOverIn)}): ${successor?.name ?? "nobody"}, epoch ${String(successor?.epoch)}`,
    leaders().length === 1,
  );
  const survivedIn = await until(() => others.every((name) => answers(`still there, ${name}?`) > 0));
  check(`the others answer what was written meanwhile (${ms(survivedIn)})`, Number.isFinite(survivedIn));

  agents.start(leader.name);
  const backIn = await until(() => answers(`still there, ${leader.name}?`) > 0);
  check(`${leader.name} comes back and answers what waited for it (${ms(backIn)})`, Number.isFinite(backIn));
  check(`${leader.name} has its old thread`, agents.state(leader.name)?.threadId === threadOf.get(leader.name));
  check(
    "every message has exactly one answer",
    names.every((name) => answers(`still there, ${name}?`) === 1),
  );
  check("Telegram saw no second poller", emulator.control.state().polls.conflicts409 === 0);
  await playDeletion(round, { check, threadOf });
  return (
    failed +
    (await playEnd(round, { check, threadOf, isLeader: (name) => leaders().some((each) => each.name === name) }))
  );
}

/** The user deletes a thread while its instance answers: one replacement, with the answer in it. */
async function playDeletion(
  { emulator: { control }, names, print }: Round,
  { check, threadOf }: { readonly check: Ending["check"]; readonly threadOf: Map<string, number> },
): Promise<void> {
  const [name] = names.slice(-1);
  const old = name === undefined ? undefined : threadOf.get(name);
  if (name === undefined || old === undefined) return;
  const title = control.state().threads.find(({ threadId }) => threadId === old)?.name;
  print(`        the user writes to ${name} and deletes its thread before the answer`);
  control.userSends({ threadId: old, text: "do not lose this" });
  control.userDeletesThread({ threadId: old });
  const placed = () =>
    control.messages({}).filter(({ from, text }) => from.isBot && text === `${name}: do not lose this`);
  const answeredIn = await until(() => placed().some(({ threadId }) => threadId !== null && threadId !== old));
  const open = control.state().threads.filter((each) => each.name === title && each.status === "open");
  const [only] = open;
  check(
    `a thread deleted mid-answer yields one replacement with the answer in it (${answeredIn.toFixed(0)} ms)`,
    open.length === 1 && placed().length === 1 && placed()[0]?.threadId === only?.threadId,
  );
  if (only !== undefined) threadOf.set(name, only.threadId);
}

interface Ending {
  readonly check: (what: string, holds: boolean) => void;
  readonly threadOf: ReadonlyMap<string, number>;
  readonly isLeader: (name: string) => boolean;
}

/** One that is killed for good loses its thread after its grace time, and not before. */
async function playEnd(
  { emulator, agents, names, print, graceMs }: Round,
  { check, threadOf, isLeader }: Ending,
): Promise<number> {
  const gone = names.find((name) => !isLeader(name));
  if (gone === undefined) return 1;
  const isThere = (name: string): boolean =>
    emulator.control.state().threads.some((each) => each.threadId === threadOf.get(name) && each.status !== "deleted");
  print(`        kill -9 of ${gone}, for good: its thread outlives it by ${(graceMs / 1_000).toFixed(0)} s`);
  agents.kill(gone);
  const goneIn = await until(() => !isThere(gone));
  check(
    `its thread is deleted after the grace time, not before (${Number.isFinite(goneIn) ? `${goneIn.toFixed(0)} ms` : "never"})`,
    Number.isFinite(goneIn) && goneIn >= graceMs - 500,
  );
  check("the other threads stay", names.filter((name) => name !== gone).every(isThere));
  return 0;
}
