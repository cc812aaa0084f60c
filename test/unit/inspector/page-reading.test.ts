/** What the page reads out of frames: states, guards that said no, differences, exchanges, the way of an update. */
import { expect, test } from "vitest";
import type { NodeShown, TransitionShown } from "../../../inspector/charts.ts";
import { showChart } from "../../../inspector/charts.ts";
import { differences } from "../../../inspector/page/difference.ts";
import { diagramRows, isRoutine, stagesOf } from "../../../inspector/page/exchanges.ts";
import { Found, lastUpTo } from "../../../inspector/page/found.ts";
import { activeStates, refusals } from "../../../inspector/page/states.ts";
import { eventText, frameText, spanText, valueText } from "../../../inspector/page/words.ts";
import { leaseMachine } from "../../../machines/lease.machine.ts";
import { Story } from "../../support/inspector/story.ts";

const to = (target: string, event: string, guard?: string): Omit<TransitionShown, "source"> => ({
  target: [target],
  event,
  ...(guard === undefined ? {} : { guard }),
  actions: [],
  reenter: false,
});

function node(id: string, transitions: readonly Omit<TransitionShown, "source">[], parent?: string): NodeShown {
  return {
    id,
    key: id.split(".").at(-1) ?? id,
    ...(parent === undefined ? {} : { parent }),
    type: "compound",
    entry: [],
    exit: [],
    invoke: [],
    tags: [],
    transitions: transitions.map((each) => ({ ...each, source: id })),
  };
}

const door = [
  node("door", [to("door.gone", "push", "isRotten")]),
  node("door.shut", [to("door.open", "push", "isUnlocked"), to("door.open", "push", "isKicked")], "door"),
  node("door.open", [], "door"),
  node("door.gone", [], "door"),
];

test("the states around an active one are active, in a real chart with nested states", () => {
  const active = activeStates(showChart(leaseMachine), { holding: "held" });
  expect([...active]).toEqual(["lease", "lease.holding", "lease.holding.held"]);
});

test("guards that said no are those asked before the one that said yes, the innermost state first", () => {
  const moment = { value: "shut", event: "push" };
  const taken = (state: number, index: number) => [door[state]!.transitions[index]!];
  const names = (takenNow: readonly TransitionShown[]) =>
    refusals(door, { ...moment, taken: takenNow }).map((each) => each.guard);
  expect(names(taken(1, 0))).toEqual([]);
  expect(names(taken(1, 1))).toEqual(["isUnlocked"]);
  expect(names(taken(0, 0))).toEqual(["isUnlocked", "isKicked"]);
  expect(names([])).toEqual(["isUnlocked", "isKicked", "isRotten"]);
  expect(refusals(door, { value: "open", event: "push", taken: [] }).map((each) => each.guard)).toEqual(["isRotten"]);
});

test("differences name each field that changed, came or went", () => {
  expect(differences({ a: 1, b: { c: [1, 2] }, d: 0 }, { a: 1, b: { c: [1, 3] }, e: null })).toEqual([
    { path: "b.c.1", before: 2, after: 3 },
    { path: "d", before: 0, after: undefined },
    { path: "e", before: undefined, after: null },
  ]);
  expect(differences(undefined, undefined)).toEqual([]);
});

test("both sides of a request are one exchange; what ended before anything else began is one row", () => {
  const story = new Story();
  const forward = { name: "leader.forwardMessage", id: "r1", updates: [7] } as const;
  story.message("i1", { ...forward, way: "out", peer: "i2", phase: "begin" });
  story.message("i2", { ...forward, way: "in", peer: "leader", phase: "begin" });
  story.crossing("i2", { way: "journal", name: "claim", id: "1", updates: [7] });
  story.message("i2", { ...forward, way: "in", peer: "leader", phase: "end", outcome: "ok" });
  story.message("i1", { ...forward, way: "out", peer: "i2", phase: "end", outcome: "ok" });
  expect(story.exchanges.list).toMatchObject([
    { from: "i1", to: "i2", name: "leader.forwardMessage", outcome: "ok", updates: [7] },
    { from: "i2", to: "Journal", name: "claim", outcome: "ok" },
  ]);
  expect(diagramRows(story.exchanges.list).map(({ exchange, part }) => `${exchange.name} ${part}`)).toEqual([
    "leader.forwardMessage begin",
    "claim whole",
    "leader.forwardMessage end",
  ]);
});

test("a poll that brings nothing is routine, one that brings an update is not", () => {
  const story = new Story();
  story.crossing("i1", { way: "telegram", name: "getUpdates", id: "1" });
  story.crossing("i1", { way: "telegram", name: "getUpdates", id: "2", updates: [7] });
  expect(story.exchanges.list.map(isRoutine)).toEqual([true, false]);
});

test("the way of an update goes from the poll to its settlement across instances, as far as one looks", () => {
  const story = new Story();
  story.crossing("i1", { way: "telegram", name: "getUpdates", id: "1", updates: [7] });
  story.crossing("i1", { way: "journal", name: "admit", id: "2", updates: [7] });
  const half = story.history.end - 1;
  story.crossing("i2", { way: "journal", name: "claim", id: "1", updates: [7], seat: "manual:x:A", outcome: "taken" });
  story.crossing("i2", { way: "journal", name: "claim", id: "2", updates: [7], seat: "manual:x:A" });
  story.message("i2", { way: "host", name: "handed to its handler", id: "3", phase: "end", updates: [7] });
  story.crossing("i2", { way: "journal", name: "settle", id: "4", updates: [7] });
  const way = story.exchanges.updates.get(7)!;
  const named = (upTo: number) => stagesOf(way, upTo).map(({ name, isBad }) => `${name}${isBad ? "!" : ""}`);
  expect(named(half)).toEqual(["fetched", "admitted"]);
  expect(named(Infinity)).toEqual(["fetched", "admitted", "claimed!", "claimed", "at its handler", "settled"]);
});

test("what was filtered is kept up, and another filter begins anew", () => {
  const items = [1, 2, 3, 4].map((number) => ({ number }));
  const range = (end: number) => ({ first: 0, end, at: (index: number) => items[index] });
  const found = new Found<{ readonly number: number }>();
  let asked = 0;
  const isEven = ({ number }: { readonly number: number }): boolean => {
    asked += 1;
    return number % 2 === 0;
  };
  expect(found.of("even", range(2), isEven)).toEqual([{ number: 2 }]);
  expect(found.of("even", range(4), isEven)).toEqual([{ number: 2 }, { number: 4 }]);
  expect(asked).toBe(4);
  expect(found.of("all", range(4), () => true)).toHaveLength(4);
  expect([lastUpTo(items, 0), lastUpTo(items, 2), lastUpTo(items, 9)]).toEqual([-1, 1, 3]);
});

test("times, states and events in words", () => {
  expect([spanText(3), spanText(1_500), spanText(61_000), spanText(3_720_000)]).toEqual([
    "3 ms",
    "1.5 s",
    "1 min 1 s",
    "1 h 2 min",
  ]);
  expect(valueText({ a: "b", c: { d: "e" } })).toBe("a.b, c.d.e");
  expect(eventText("xstate.after.renewInterval.lease.holding")).toBe("after renewInterval");
  const story = new Story().attach("77:1", "Amber").rest("77:1", "lease", { value: { holding: "held" }, context: {} });
  expect(frameText(story.frames[1]!, story.history.names)).toBe("Amber/lease rests in holding.held");
});

test("a step back shows what was then, beyond the last remembered state too", () => {
  const story = new Story();
  for (let count = 0; count < 1_300; count += 1) story.rest("i1", "lease", { value: `s${count}`, context: { count } });
  for (const step of [0, 499, 500, 777, 1_299])
    expect([...story.history.at(step).actors.values()][0]?.context, `step ${step}`).toEqual({ count: step });
});
