/**
 * Frames of a crowd, made up: 50 instances with 40 actors each, and so many events a second.
 *
 * Owns: an inspector's server that tells them. Does not own: how the page copes.
 */
import type { AnyStateMachine } from "xstate";
import type { NodeShown } from "../../../inspector/charts.ts";
import { showChart } from "../../../inspector/charts.ts";
import { BatchingOutlet } from "../../../inspector/outlet.ts";
import type { Outlet } from "../../../inspector/outlet.ts";
import { WebServer } from "../../../inspector/web-server.ts";
import { deliveryMachine } from "../../../machines/delivery.machine.ts";
import { instanceMachine } from "../../../machines/instance.machine.ts";
import { leaseMachine } from "../../../machines/lease.machine.ts";

export const instances = 50;
export const actorsEach = 40;
export const largeNodes = 320;
const turnMs = 20;
const machines: readonly AnyStateMachine[] = [instanceMachine, leaseMachine, deliveryMachine];

/** A chart of 320 states: 16 groups of 19, each state leading to the next and to another group. */
export function largeChart(): readonly NodeShown[] {
  const groups = Array.from({ length: 16 }, (_, group) => `large.g${group}`);
  const bare = { entry: [], exit: [], invoke: [], tags: [] };
  const to = (source: string, target: string, event: string) => ({
    source,
    target: [target],
    event,
    actions: [],
    reenter: false,
  });
  const inside = (group: string, index: number): NodeShown[] =>
    Array.from({ length: 19 }, (_, state) => {
      const id = `${group}.s${state}`;
      const next = to(id, state === 18 ? `large.g${(index + 1) % 16}` : `${group}.s${state + 1}`, "step.taken");
      return { ...bare, id, key: `s${state}`, parent: group, type: "atomic", transitions: [next] };
    });
  const around = (id: string, key: string, initial: string): NodeShown => ({
    ...bare,
    id,
    key,
    ...(id === "large" ? {} : { parent: "large" }),
    type: "compound",
    initial,
    transitions: [],
  });
  return [
    around("large", "large", "large.g0"),
    ...groups.flatMap((id, index) => [around(id, `g${index}`, `${id}.s0`), ...inside(id, index)]),
  ].slice(0, largeNodes);
}

const nameOf = (index: number): string => `${1_000 + index}:1`;
const head = (seq: number, from?: string) => ({
  ...(from === undefined ? {} : { from }),
  protocol: "partyline-inspect",
  version: 1,
  seq,
  atMs: Date.now(),
});

function* beginning(): Generator<object> {
  for (let index = 0; index < instances; index += 1) {
    const from = nameOf(index);
    yield {
      ...head(0),
      kind: "source",
      id: from,
      state: "attached",
      instance: from,
      name: `Agent ${index}`,
      pid: 1_000 + index,
    };
    for (const machine of machines)
      yield { ...head(0, from), kind: "chart", chart: machine.id, nodes: showChart(machine) };
    const actors = Array.from({ length: actorsEach }, (_, actor) => shown(from, actor, 0));
    yield { ...head(0, from), kind: "welcome", actors, omitted: 0 };
  }
  const from = nameOf(0);
  yield { ...head(0, from), kind: "chart", chart: "large", nodes: largeChart() };
  const actor = { id: `${from}/large`, session: "large" };
  yield {
    ...head(0, from),
    kind: "snapshot",
    actor,
    chart: "large",
    status: "active",
    value: { g0: "s0" },
    context: {},
  };
}

function shown(from: string, actor: number, count: number): object {
  const [id, chart, value] =
    actor === 0
      ? [from, "instance", { online: { following: "joined" } }]
      : actor === 1
        ? [`${from}/lease`, "lease", { observing: count % 2 === 0 ? "resting" : "looking" }]
        : [`${from}/delivery/${actor}`, "delivery", { trying: "routing" }];
  const context = {
    count,
    seat: `manual:0123456789abcdef:${from}`,
    facts: { updateId: 810_000_000 + count, thread: 7 },
  };
  return { actor: { id, session: String(actor) }, chart, status: "active", value, context };
}

/** One event in four is a message; the others are of actors. */
function event(count: number): object {
  const from = nameOf(count % instances);
  const actor = Math.floor(count / instances) % actorsEach;
  const { actor: named, chart, value } = shown(from, actor, count) as Readonly<Record<string, unknown>>;
  const about = { ...head(count, from), actor: named, chart };
  switch (count % 4) {
    case 0:
      return { ...about, kind: "event", event: { type: "lease.observed", count } };
    case 1:
      return { ...about, kind: "transition", event: "lease.observed", transitions: [], value };
    case 2:
      return { ...head(count, from), kind: "snapshot", ...shown(from, actor, count) };
    default: {
      const id = String(Math.floor(count / 8));
      const phase = count % 8 === 3 ? "begin" : "end";
      const updates = [810_000_000 + Math.floor(count / 8)];
      return {
        ...head(count, nameOf(0)),
        kind: "message",
        by: nameOf(0),
        way: "journal",
        name: "settle",
        id,
        phase,
        updates,
      };
    }
  }
}

export interface Crowd {
  readonly pageUrl: string;
  readonly told: () => number;
  close(): Promise<void>;
}

export async function startCrowd(eventsPerSecond: number): Promise<Crowd> {
  const outlets = new Set<Outlet>();
  let count = 0;
  const server = new WebServer({
    about: { mode: "live", maySend: false, title: "a crowd" },
    feed: {
      attach: (outlet) => {
        // The page asked for batches; what it is given at first need not wait for one.
        for (const frame of beginning()) outlet.send(JSON.stringify(frame), () => undefined);
        if (outlet instanceof BatchingOutlet) outlet.flush();
        outlets.add(outlet);
      },
      detach: (outlet) => void outlets.delete(outlet),
      send: () => undefined,
    },
  });
  const startedAt = performance.now();
  // By the clock, not by the turn: a late turn tells more.
  const turns = setInterval(() => {
    const due = Math.floor(((performance.now() - startedAt) / 1_000) * eventsPerSecond);
    for (; count < due; count += 1) {
      const text = JSON.stringify(event(count));
      for (const outlet of outlets) outlet.send(text, () => undefined);
    }
  }, turnMs);
  const port = await server.listen(0, "127.0.0.1");
  return {
    pageUrl: `http://127.0.0.1:${port}/#token=${server.token}`,
    told: () => count,
    async close() {
      clearInterval(turns);
      await server.close();
    },
  };
}
