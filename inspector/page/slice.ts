/**
 * The part of a history that shows a property broken, as a recording by itself.
 *
 * Owns: what must stand before its first step so that it can be read alone. Does not own: saving it (`save.ts`).
 */
import type { Frame } from "../frames.ts";
import type { Break } from "./judge.ts";
import type { History, State } from "./model.ts";

/** The steps of a break and no more, with how everything stood before them: a recording by itself. */
export function sliceOf(history: History, it: Break): string {
  const from = Math.max(history.first, it.fromStep);
  const before = history.at(from - 1);
  const head = { protocol: "partyline-inspect", version: 1, seq: 0 };
  const atMs = history.step(from)?.frame.atMs;
  const time = atMs === undefined ? {} : { atMs };
  const lines: unknown[] = [
    { format: "partyline-recording", version: 1, source: "live", title: `${it.name} is broken`, property: it.name },
    ...history.chartFrames.values(),
    ...sourcesOf(before).map((source) => ({ ...head, ...time, ...source })),
    ...welcomesOf(before).map((welcome) => ({ ...welcome, ...head, ...time })),
    ...(before.line === null ? [] : [{ ...head, ...time, kind: "line", status: before.line }]),
  ];
  for (let number = from; number <= it.step; number += 1) lines.push(history.step(number)?.frame);
  const last = history.step(it.step)?.frame.atMs;
  lines.push({
    ...head,
    ...(last === undefined ? {} : { atMs: last }),
    kind: "verdict",
    broken: [it.name],
    detail: it.detail,
  });
  return `${lines
    .filter((each) => each !== undefined)
    .map((each) => JSON.stringify(each))
    .join("\n")}\n`;
}

const sourcesOf = (state: State): object[] =>
  [...state.sources.values()].map(({ id, name, pid, isGone }) => ({
    kind: "source",
    id,
    state: isGone ? "gone" : "attached",
    instance: id,
    name,
    ...(pid === null ? {} : { pid }),
  }));

/** One welcome for each source. */
function welcomesOf(state: State): object[] {
  const bySource = new Map<string, unknown[]>();
  for (const actor of state.actors.values()) {
    const { id, session, from, chart, status, value, context, timers } = actor;
    const shown = {
      actor: { id, session },
      ...(chart === null ? {} : { chart: chart.slice(from.length + 1) }),
      status,
      value,
      context,
      timers,
    };
    bySource.set(from, [...(bySource.get(from) ?? []), shown]);
  }
  return [...bySource].map(([from, actors]) => ({
    ...(from === "" ? {} : { from }),
    kind: "welcome" satisfies Frame["kind"],
    actors,
    omitted: 0,
  }));
}
