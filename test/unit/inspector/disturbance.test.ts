/** Nothing that goes wrong with the inspector or a client disturbs an actor. */
import { assign, createActor, setup } from "xstate";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Inspector } from "../../../inspector/index.ts";
import { attachedViewer, leaseActor, plantedSecret, started } from "./harness.ts";

const counter = setup({
  types: { context: {} as { count: number }, events: {} as { type: "load.added"; load: string } },
}).createMachine({
  id: "counter",
  context: { count: 0 },
  on: { "load.added": { actions: assign({ count: ({ context }) => context.count + 1 }) } },
});

function counterActor(inspector: Inspector) {
  const actor = createActor(counter, { id: "counter", inspect: inspector.observe }).start();
  onTestFinished(() => void actor.stop());
  return actor;
}

test("a redactor that throws shows a note instead of the value, and the actor goes on", async () => {
  const inspector = await started({
    redact: () => {
      throw new Error(`choked on ${plantedSecret}`);
    },
  });
  const viewer = await attachedViewer(inspector);
  const { actor, grant } = leaseActor(inspector);
  actor.start();
  grant();
  await vi.waitUntil(() => actor.getSnapshot().matches("holding"));
  const snapshot = await viewer.frame("snapshot", (frame) => frame.context !== undefined);
  expect(snapshot.context).toBe("<not shown: the redactor failed>");
  expect(viewer.texts.join()).not.toContain(plantedSecret);
  expect(inspector.counts.failures).toBeGreaterThan(0);
});

test.each([
  ["what JSON cannot hold", () => 1n],
  ["a value longer than a frame may be", () => "x".repeat(2_000_000)],
])("a redactor that lets through %s costs the frame, and the client is told", async (_name, bad) => {
  const inspector = await started({
    redact: (value) => (typeof value === "object" && value !== null && "load" in value ? bad() : value),
  });
  const viewer = await attachedViewer(inspector);
  const actor = counterActor(inspector);
  actor.send({ type: "load.added", load: "" });
  expect((await viewer.frame("dropped")).dropped).toBe(1);
  const snapshot = await viewer.frame("snapshot", (frame) => JSON.stringify(frame.context) === '{"count":1}');
  expect(snapshot.actor.id).toBe("counter");
});

test(
  "a client that does not read has frames dropped, is told how many, and the actor is not held up",
  { timeout: 20_000 },
  async () => {
    const inspector = await started();
    const slow = await attachedViewer(inspector);
    const quick = await attachedViewer(inspector);
    const actor = counterActor(inspector);
    await slow.frame("snapshot");
    slow.socket.pause();
    const load = "x".repeat(900_000);
    let sent = 0;
    while (inspector.counts.dropped === 0) {
      actor.send({ type: "load.added", load });
      sent += 1;
      await quick.frame("snapshot", (frame) => JSON.stringify(frame.context) === `{"count":${sent}}`);
    }
    expect(actor.getSnapshot().context.count).toBe(sent);

    slow.socket.resume();
    await slow.frame("dropped");
    actor.send({ type: "load.added", load: "" });
    await slow.frame("snapshot", (frame) => JSON.stringify(frame.context) === `{"count":${sent + 1}}`);
    const live = slow.frames.filter(({ kind }) => !["welcome", "chart", "dropped"].includes(kind));
    const told = slow.frames.map((frame) => (frame.kind === "dropped" ? frame.dropped : 0)).reduce((a, b) => a + b, 0);
    expect(told).toBe(inspector.counts.dropped);
    expect(live.length + told).toBe(inspector.counts.frames);
    expect(quick.frames.filter(({ kind }) => kind === "dropped")).toEqual([]);
  },
);

test("an observer fed with nonsense does not throw", async () => {
  const inspector = await started();
  const viewer = await attachedViewer(inspector);
  // What a broken stand-in for XState might pass.
  const nonsense = { type: "@xstate.snapshot", rootId: "x:0", actorRef: null } as unknown as Parameters<
    Inspector["observe"]
  >[0];
  expect(() => inspector.observe(nonsense)).not.toThrow();
  expect((await viewer.frame("dropped")).dropped).toBeGreaterThan(0);
  expect(inspector.counts.failures).toBeGreaterThan(0);
});
