/** What `partyline/testing` gives to those who check a host of their own. */
import { expect, test } from "vitest";
import { setup } from "xstate";
import { updateId } from "../../../machines/ids.ts";
import { readUpdate } from "../../../machines/updates.rules.ts";
import { chartOf, checkWorld, simulateHost, slot, updatesOf, worldDefaults } from "../../../testing/index.ts";
import type { World } from "../../../testing/index.ts";

const door = setup({ actors: { open: slot<undefined>("open") } }).createMachine({
  id: "door",
  initial: "shut",
  states: { shut: { invoke: { src: "open", onDone: "open", onError: "shut" } }, open: {} },
});
const world = (over: Partial<World<{ opened: number }, null, { opened: number }>>) =>
  checkWorld({
    ...worldDefaults,
    name: "door",
    orphansMax: 1,
    places: [{ name: "door", chart: chartOf(door) }],
    start: { env: { opened: 0 }, orders: [{ kind: "start", place: "door", as: "door", input: {} }] },
    actions: () => [],
    commit: ({ opened }) => [{ env: { opened: opened + 1 }, answer: { output: undefined } }],
    onFact: (env) => ({ env }),
    observe: () => null,
    view: (env) => env,
    check: () => [],
    mayEnd: () => true,
    ...over,
  });

test("a world that holds says so; one that does not tells the shortest way there in three forms", () => {
  expect(world({})).toMatchObject({ name: "door", holds: true, counterexamples: [] });
  const { holds, counterexamples } = world({ check: ({ opened }) => (opened > 0 ? ["door/open"] : []) });
  expect(holds).toBe(false);
  const [found] = counterexamples;
  expect(found).toMatchObject({ property: "door/open", steps: 1 });
  expect(found?.text).toContain("open of door takes effect");
  expect(found?.mermaid).toContain("sequenceDiagram");
  expect(JSON.parse(found?.recording.split("\n")[0] ?? "")).toMatchObject({ format: "partyline-recording" });
});

test("a goal that never comes about is found", () => {
  const { counterexamples } = world({ goal: () => false, mayEnd: () => false });
  expect(counterexamples.map(({ property }) => property)).toEqual(["deadlock"]);
});

test("updates are those of their seed, readable, and about messages that came before", () => {
  const updates = updatesOf(3, 200, { firstId: 10, threadId: 7 });
  expect(updatesOf(3, 200, { firstId: 10, threadId: 7 })).toEqual(updates);
  const facts = updates.map((each) => readUpdate(each));
  expect(facts.map((each) => each?.updateId)).toEqual(updates.map((_each, index) => updateId(10 + index)));
  expect(new Set(facts.map((each) => each?.kind))).toEqual(
    new Set(["message", "edited_message", "callback_query", "message_reaction"]),
  );
  let known = 0;
  for (const each of facts)
    if (each?.kind === "message") known = Number(each.message);
    else if (each?.message !== null) expect(Number(each?.message)).toBeLessThanOrEqual(known);
});

test("a host of one's own is handed updates, and its own properties count", { timeout: 60_000 }, async () => {
  const handed = new Set<string>();
  const result = await simulateHost({
    seed: 1,
    hours: 0.05,
    ack: "auto",
    host:
      ({ call, pause, place }) =>
      async (update) => {
        handed.add(update.id);
        await pause(10);
        await call("sendMessage", { text: `answer by ${place}` });
      },
    check: () => (handed.size > 1 ? ["host/tooMany"] : []),
  });
  expect(result.violations.map(({ name }) => name)).toEqual(["host/tooMany"]);
  expect(handed.size).toBe(2);
});
