/** The explorer itself, on toy charts whose state counts were worked out by hand or by another way of counting. */
import { describe, expect, it } from "vitest";
import { assign, emit, fromCallback, fromPromise, sendTo, setup } from "xstate";
import {
  asMermaid,
  asRecording,
  asText,
  chartOf,
  checkLiveness,
  explore,
  traceTo,
} from "../../testing/explorer/index.ts";
import { ProjectionFault, reachOf, worldDefaults } from "../../testing/explorer/index.ts";
import type { Chart, World } from "../../testing/explorer/index.ts";

const never = () => {
  throw new Error("the explorer fills no slot");
};

const ticker = setup({}).createMachine({
  id: "ticker",
  initial: "a",
  states: { a: { after: { 10: "b" } }, b: { after: { 10: "c" } }, c: { type: "final" } },
});

/** Asks once, and gives up on a timer. */
const asker = setup({
  types: { emitted: {} as { type: "heard" } },
  actors: { put: fromPromise<number>(never) },
}).createMachine({
  id: "asker",
  initial: "asking",
  states: {
    asking: {
      invoke: { src: "put", onDone: { target: "heard", actions: emit({ type: "heard" }) }, onError: "failed" },
      after: { 10: "gone" },
    },
    heard: { type: "final" },
    failed: { type: "final" },
    gone: { type: "final" },
  },
});

interface Env {
  readonly puts: number;
  readonly heard: number;
}

function worldOf(
  chart: Chart,
  places: readonly string[],
  over: Partial<World<Env, string, Env>> = {},
): World<Env, string, Env> {
  return {
    ...worldDefaults,
    name: "toy",
    orphansMax: 4,
    places: places.map((name) => ({ name, chart })),
    start: {
      env: { puts: 0, heard: 0 },
      orders: places.map((place) => ({ kind: "start", place, as: place, input: undefined })),
    },
    actions: () => [],
    commit: (env) => [{ env: { ...env, puts: env.puts + 1 }, answer: { output: env.puts } }],
    onFact: (env) => ({ env: { ...env, heard: env.heard + 1 } }),
    observe: (_place, snapshot) => JSON.stringify(snapshot.value),
    view: (env) => env,
    check: () => [],
    mayEnd: () => true,
    ...over,
  };
}

const symmetric = (places: readonly string[]): Partial<World<Env, string, Env>> => ({
  symmetry: { members: places.map((each) => [each]), tokens: () => [], permute: (env) => env },
});

describe("explore", () => {
  it("visits exactly the states there are", () => {
    const one = explore(worldOf(chartOf(ticker), ["x"]));
    expect([one.states, one.transitions, one.depth, one.exhaustive]).toEqual([3, 2, 2, true]);
    const three = explore(worldOf(chartOf(ticker), ["x", "y", "z"]));
    // 3 × 3 × 3 positions; from each, every ticker that is not at its end may tick: 3 × 2 × 9.
    expect([three.states, three.transitions, three.depth]).toEqual([27, 54, 6]);
  });

  it("keeps one of all states that differ only in who is who", () => {
    const places = ["x", "y", "z"];
    const reduced = explore(worldOf(chartOf(ticker), places, symmetric(places)));
    // Multisets of three out of three positions.
    expect([reduced.states, reduced.depth]).toEqual([10, 6]);
  });

  it("lets a request take effect after its sender has left", () => {
    const { states, violations } = explore(
      worldOf(chartOf(asker), ["x"], { check: ({ puts, heard }) => (puts > heard ? ["put/heard"] : []) }),
    );
    expect(violations.map((each) => each.property)).toEqual(["put/heard"]);
    expect(states).toBeGreaterThan(1);
    const all = explore(worldOf(chartOf(asker), ["x"]));
    // asking: issued, committed · heard · gone: with the request still under way, after it, after it had taken effect (the same).
    expect([all.states, all.transitions]).toEqual([5, 5]);
  });

  it("drops with its sender what the world says has no effect", () => {
    const { states } = explore(worldOf(chartOf(asker), ["x"], { outlives: () => false }));
    // asking: issued, committed · heard · gone: before, and after the request took effect.
    expect(states).toBe(5);
    expect(explore(worldOf(chartOf(asker), ["x"], { commit: () => [] })).states).toBe(2);
  });

  it("finds a shortest way to a violation and tells it", () => {
    const world = worldOf(chartOf(asker), ["x", "y"], { check: ({ heard }) => (heard === 2 ? ["toy/bothHeard"] : []) });
    const result = explore(world);
    const steps = traceTo(result, result.violations[0]!.state);
    expect(steps.map((each) => each.kind).sort()).toEqual(["answer", "answer", "commit", "commit"]);
    expect(asText("both", steps)).toContain("y → heard");
    expect(asMermaid("both", steps)).toMatch(/^%% both\nsequenceDiagram\n {2}participant x/);
    const lines = asRecording({ world: "toy", property: "toy/bothHeard", places: world.places }, steps)
      .trimEnd()
      .split("\n");
    // The header, the one chart of both places, and the steps.
    expect(lines).toHaveLength(6);
    expect(JSON.parse(lines[1]!)).toMatchObject({
      kind: "chart",
      chart: "asker",
      nodes: [{ id: "asker" }, {}, {}, {}, {}],
    });
    expect(JSON.parse(lines[0]!)).toMatchObject({
      format: "partyline-recording",
      version: 1,
      steps: 4,
      charts: { x: "asker", y: "asker" },
    });
  });

  it("reports a state in which nothing can happen any more", () => {
    const { violations } = explore(worldOf(chartOf(asker), ["x"], { mayEnd: (_env, seen) => seen[0] !== '"gone"' }));
    expect(violations.map((each) => each.property)).toEqual(["deadlock"]);
  });

  it("says so when the bound on states was met first", () => {
    expect(explore(worldOf(chartOf(ticker), ["x", "y", "z"]), { statesMax: 5 }).exhaustive).toBe(false);
  });

  it("names each transition that no world takes", () => {
    const [reach] = reachOf([explore(worldOf(chartOf(asker), ["x"]))]);
    expect(reach?.unreached).toEqual([
      "asker.asking on xstate.error.actor.0.asker.asking [0] → asker.failed",
      "state asker.failed",
    ]);
    const faulty = explore(worldOf(chartOf(asker), ["x"], { faults: (env) => [{ kind: "notCommitted", env }] }));
    expect(reachOf([faulty])[0]?.unreached).toEqual([]);
  });

  it("refuses a projection that drops what decides", () => {
    const counter = setup({ types: { context: {} as { n: number } } }).createMachine({
      id: "counter",
      context: { n: 0 },
      initial: "counting",
      states: {
        counting: {
          always: { guard: ({ context }) => context.n > 2, target: "full" },
          after: { 10: { target: "counting", reenter: true, actions: assign({ n: ({ context }) => context.n + 1 }) } },
        },
        full: { type: "final" },
      },
    });
    expect(explore(worldOf(chartOf(counter), ["x"])).states).toBe(4);
    const once = counter.provide({});
    const blind = chartOf(once, { project: ({ context }) => context.n > 5 });
    expect(() => explore(worldOf(blind, ["x"], { actions: startAnew }))).toThrow(ProjectionFault);
  });
});

/** Starts the counter anew, far on. */
function startAnew(env: Env) {
  return env.puts > 0
    ? []
    : [
        {
          name: "anew",
          env: { ...env, puts: 1 },
          kind: "free" as const,
          orders: [{ kind: "send" as const, place: "x", event: { type: "none" } }],
        },
      ];
}

describe("checkLiveness", () => {
  const loop = setup({}).createMachine({
    id: "loop",
    initial: "a",
    states: { a: { after: { 10: "b" }, on: { out: "goal" } }, b: { after: { 10: "a" } }, goal: { type: "final" } },
  });
  const goal = (_env: Env, seen: readonly (string | null)[]) => seen[0] === '"goal"';
  const withOut = (kind: "fair" | "free") => (env: Env) => [
    { name: "out", env, kind, orders: [{ kind: "send" as const, place: "x", event: { type: "out" } }] },
  ];
  const check = (over: Partial<World<Env, string, Env>>) => checkLiveness(explore(worldOf(chartOf(loop), ["x"], over)));

  it("accepts that what must come about can be put off, but not for ever", () => {
    const once = chartOf(ticker);
    const result = checkLiveness(explore(worldOf(once, ["x"], { goal: (_env, seen) => seen[0] === '"c"' })));
    expect([result.starved, result.pending]).toEqual([null, 2]);
  });

  it("finds a cycle that starves nobody", () => {
    expect(check({ goal, actions: withOut("free") }).starved).toMatchObject({ kind: "cycle", size: 2 });
  });

  it("finds that a timer which is started anew again and again need not fire, though nothing else changes", () => {
    const waiting = (heard: object) =>
      setup({}).createMachine({
        id: "waiting",
        initial: "a",
        states: { a: { after: { 10: "goal" }, on: { out: heard } }, goal: { type: "final" } },
      });
    const starvedBy = (heard: object) =>
      checkLiveness(explore(worldOf(chartOf(waiting(heard)), ["x"], { goal, actions: withOut("free") }))).starved;
    expect(starvedBy({ target: "a", reenter: true })).toMatchObject({ kind: "cycle", size: 1 });
    expect(starvedBy({})).toBeNull();
  });
});

describe("charts that other charts start", () => {
  const counted = (type: string) => (env: Env, _place: string, fact: { readonly type: string }) =>
    fact.type === type ? { env: { ...env, heard: env.heard + 1 } } : { env };

  /** Asks once, and is done with the answer. */
  const child = setup({
    types: { context: {} as { got: number }, output: {} as { got: number } },
    actors: { put: fromPromise<number>(never) },
  }).createMachine({
    id: "child",
    context: { got: -1 },
    output: ({ context }) => context,
    initial: "asking",
    states: {
      asking: {
        invoke: { src: "put", onDone: { target: "got", actions: assign({ got: ({ event }) => event.output }) } },
      },
      got: { type: "final", entry: emit({ type: "childGot" }) },
    },
  });
  const parent = setup({
    types: { context: {} as { got: number } },
    actors: { child },
  }).createMachine({
    id: "parent",
    context: { got: -1 },
    initial: "waiting",
    states: {
      waiting: {
        invoke: { src: "child", onDone: { target: "told", actions: assign({ got: ({ event }) => event.output.got }) } },
        after: { 10: "gone" },
      },
      told: {},
      gone: {},
    },
  });
  const family = (over: Partial<World<Env, string, Env>> = {}): World<Env, string, Env> => ({
    ...worldOf(chartOf(parent, { children: ["child"] }), ["p"], over),
    places: [
      { name: "p", chart: chartOf(parent, { children: ["child"] }), hosts: { child: "c" } },
      { name: "c", chart: chartOf(child) },
    ],
  });

  it("answer by their output when they are done, and leave their place", () => {
    const world = family({ onFact: counted("childGot"), check: ({ heard }) => (heard === 1 ? ["toy/got"] : []) });
    const result = explore(world);
    const steps = traceTo(result, result.violations[0]!.state);
    expect(steps.map((each) => each.kind)).toEqual(["commit", "answer"]);
    expect(steps.at(-1)?.values).toEqual({ p: "told", c: null });
    expect(result.chartCalls).toBeLessThan(10);
  });

  it("are stopped with the state that invoked them, and their requests live on", () => {
    // Issued, committed · told · gone: request under way, or taken effect.
    const { states, exhaustive } = explore(family());
    expect([states, exhaustive]).toEqual([5, true]);
    expect(explore(family({ outlives: () => false, commit: () => [] })).states).toBe(2);
  });

  it("need a place of their own", () => {
    const world = worldOf(chartOf(parent, { children: ["child"] }), ["p"]);
    expect(() => explore(world)).toThrow("no place plays child");
  });

  const lamp = setup({}).createMachine({
    id: "lamp",
    initial: "dark",
    states: { dark: { on: { light: "lit" } }, lit: { entry: emit({ type: "shines" }), on: { light: {} } } },
  });
  const keeper = setup({ actors: { lamp: fromCallback(never) } }).createMachine({
    id: "keeper",
    initial: "on",
    states: {
      on: {
        invoke: { src: "lamp", id: "lamp" },
        after: { 10: { actions: sendTo("lamp", { type: "light" }) }, 20: "off" },
      },
      off: {},
    },
  });
  const keeperChart = chartOf(keeper, { companions: ["lamp"] });

  it("live beside them as companions: commands reach them, their facts reach the world, the end of the state ends them", () => {
    const world: World<Env, string, Env> = {
      ...worldOf(keeperChart, ["k"], { onFact: counted("shines") }),
      places: [
        { name: "k", chart: keeperChart, hosts: { lamp: "l" } },
        { name: "l", chart: chartOf(lamp) },
      ],
      observe: (_place, snapshot) => String(snapshot.value),
    };
    const seen: string[] = [];
    const result = explore({ ...world, view: (env, [k, l]) => (seen.push(`${k} ${l} ${env.heard}`), env) });
    expect(result.exhaustive).toBe(true);
    expect([...new Set(seen)].sort()).toEqual(["off null 0", "off null 1", "on dark 0", "on lit 1"]);
  });

  it("are told to the environment when no place plays them", () => {
    const facts: string[] = [];
    explore(worldOf(keeperChart, ["k"], { onFact: (env, _place, fact) => (facts.push(fact.type), { env }) }));
    expect([...new Set(facts)]).toEqual(["companion.started", "companion.told", "companion.stopped"]);
  });
});
