/** What an attached client sees of real actors, over a real socket. */
import { assign, createActor, setup } from "xstate";
import { expect, onTestFinished, test, vi } from "vitest";
import { epoch, instanceId } from "../../../machines/ids.ts";
import { attachedViewer, leaseActor, plantedSecret, redactPlanted, started, vacant, Viewer } from "./harness.ts";

test("a client is welcomed with the known actors and their charts, then sees the transition just taken", async () => {
  const inspector = await started({ nowMs: () => 1_700_000_000_000 });
  const { actor, grant } = leaseActor(inspector);
  actor.start();
  await vi.waitUntil(() => actor.getSnapshot().matches("acquiring"));

  const viewer = await attachedViewer(inspector);
  expect(inspector.attached).toBe(1);
  expect(viewer.frames[0]).toMatchObject({
    protocol: "partyline-inspect",
    version: 1,
    atMs: 1_700_000_000_000,
    kind: "welcome",
    omitted: 0,
    actors: [
      { actor: { id: "i1/lease" }, chart: "lease", status: "active", value: { acquiring: "standing" } },
      { actor: { id: "i1/lease/0.lease.acquiring", parent: actor.sessionId }, status: "active" },
    ],
  });
  const chart = await viewer.frame("chart");
  expect(chart).toMatchObject({ chart: "lease" });
  expect(chart.nodes).toContainEqual(
    expect.objectContaining({ id: "lease.acquiring.standing", parent: "lease.acquiring", type: "atomic" }),
  );

  grant();
  const transition = await viewer.frame("transition");
  expect(transition).toMatchObject({
    actor: { id: "i1/lease" },
    chart: "lease",
    event: "xstate.done.actor.0.lease.acquiring",
    value: { holding: "held" },
    transitions: [{ source: "lease.acquiring", target: ["lease.holding"], guard: "(inline)" }],
  });
  const snapshot = await viewer.frame("snapshot", (frame) => frame.chart === "lease");
  expect(snapshot).toMatchObject({ value: { holding: "held" }, status: "active", context: { epoch: 1 } });
  const kinds = viewer.frames.map((frame) => frame.kind);
  expect(kinds.indexOf("event")).toBeLessThan(kinds.indexOf("transition"));
  expect(kinds.filter((kind) => kind === "chart")).toHaveLength(1);
});

test("live frames are numbered without gaps, and each client gets a chart once", async () => {
  const inspector = await started();
  const viewers = [await attachedViewer(inspector), await attachedViewer(inspector)];
  const { actor } = leaseActor(inspector);
  actor.start();
  actor.stop();
  for (const viewer of viewers) {
    await viewer.frame("snapshot", (frame) => frame.status === "stopped" && frame.chart === "lease");
    const live = viewer.frames.filter(({ kind }) => kind !== "welcome" && kind !== "chart");
    expect(live.map(({ seq }) => seq)).toEqual(live.map((_, index) => index + 1));
    expect(live[0]).toMatchObject({ kind: "actor", actor: { id: "i1/lease" } });
    expect(viewer.frames.filter(({ kind }) => kind === "chart")).toHaveLength(1);
    expect(viewer.frames[1]?.kind).toBe("chart");
  }
});

test("an actor that has ended is not in a later welcome, and at most ringMax root actors are", async () => {
  const inspector = await started({ ringMax: 2 });
  const actors = [1, 2, 3].map(() => leaseActor(inspector).actor.start());
  const first = await attachedViewer(inspector);
  const welcome = await first.frame("welcome");
  const sessions = welcome.actors.filter(({ chart }) => chart === "lease").map(({ actor }) => actor.session);
  expect(sessions).toEqual([actors[1]?.sessionId, actors[2]?.sessionId]);
  expect(welcome.omitted).toBe(1);

  for (const actor of actors) actor.stop();
  const second = await attachedViewer(inspector);
  expect((await second.frame("welcome")).actors).toEqual([]);
});

test("an actor that breaks while handling an event is shown as broken, although XState tells no observer", async () => {
  const inspector = await started();
  const chart = setup({}).createMachine({
    id: "fragile",
    on: {
      "glass.dropped": {
        actions: assign(() => {
          throw new Error(`it held ${plantedSecret}`);
        }),
      },
    },
  });
  const viewer = await attachedViewer(inspector);
  const actor = createActor(chart, { inspect: inspector.observe });
  const onError = vi.fn();
  actor.subscribe({ error: onError });
  actor.start();
  actor.send({ type: "glass.dropped" });
  const snapshot = await viewer.frame("snapshot", (frame) => frame.status === "error");
  expect(snapshot.chart).toBe("fragile");
  expect(onError).toHaveBeenCalledOnce();
});

test("a secret in a context, an event, a chart or an id is redacted in every frame", async () => {
  const inspector = await started();
  const holder = {
    instanceId: instanceId("i2"),
    incarnation: { bootId: "b", pidNamespace: "n", pid: 1, startTicks: "1", counter: 0 },
    endpoint: "unix:/x",
    secret: plantedSecret,
  };
  const lease = leaseActor(inspector, { ...vacant, epoch: epoch(3), holder, remainingMs: 60_000 });
  lease.actor.start();
  await vi.waitUntil(() => lease.actor.getSnapshot().matches("observing"));
  const chart = setup({ types: { context: {} as { secret: string } } }).createMachine({
    id: `leaky/${plantedSecret}`,
    context: { secret: plantedSecret },
    description: `the root knows ${plantedSecret}`,
    initial: "idle",
    states: { idle: { meta: { [plantedSecret]: true }, on: { [plantedSecret]: "idle" } } },
  });
  const early = createActor(chart, { id: `early/${plantedSecret}`, inspect: inspector.observe }).start();

  const viewer = await attachedViewer(inspector);
  const late = createActor(chart, { id: `late/${plantedSecret}`, inspect: inspector.observe }).start();
  early.send({ type: plantedSecret, token: plantedSecret });
  lease.actor.send({ type: "lease.check" });
  lease.actor.stop();
  late.stop();
  early.stop();
  await viewer.frame("snapshot", (frame) => frame.actor.id === "early/<redacted>" && frame.status === "stopped");

  expect(viewer.texts.join("\n")).not.toContain(plantedSecret);
  expect(viewer.frames).toContainEqual(
    expect.objectContaining({ kind: "snapshot", context: { secret: "<redacted>" } }),
  );
  const leaky = await viewer.frame("chart", (frame) => frame.chart === "leaky/<redacted>");
  expect(JSON.stringify(leaky.nodes)).toContain("the root knows <redacted>");
});

test("without a client nothing is redacted or serialised; after the last one has left neither", async () => {
  const redact = vi.fn(redactPlanted);
  const inspector = await started({ redact });
  leaseActor(inspector).actor.start().stop();
  expect(inspector.counts.observed).toBeGreaterThan(0);
  expect(redact).not.toHaveBeenCalled();

  const viewer = new Viewer(inspector);
  await viewer.frame("welcome");
  const { actor } = leaseActor(inspector);
  actor.start();
  expect(redact).toHaveBeenCalled();

  viewer.socket.close();
  await vi.waitUntil(() => inspector.attached === 0);
  redact.mockClear();
  const seen = inspector.counts.observed;
  actor.send({ type: "lease.check" });
  actor.stop();
  expect(inspector.counts.observed).toBeGreaterThan(seen);
  expect(redact).not.toHaveBeenCalled();
});

test("a reference to an actor in a context is shown by its id, not followed", async () => {
  const inspector = await started();
  const viewer = await attachedViewer(inspector);
  const other = createActor(setup({}).createMachine({}), { id: "other" });
  const chart = setup({ types: { context: {} as { friends: unknown[] } } }).createMachine({
    context: { friends: [other] },
  });
  const actor = createActor(chart, { inspect: inspector.observe }).start();
  onTestFinished(() => void actor.stop());
  expect((await viewer.frame("snapshot")).context).toEqual({ friends: ["<actor other>"] });
});
