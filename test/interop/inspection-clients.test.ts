/** The two bridges, seen through the real packages' own clients. */
import { createWebSocketReceiver } from "@statelyai/inspect";
import type { StatelyInspectionEvent } from "@statelyai/inspect";
import { createRequire } from "node:module";
import { createActor, setup } from "xstate";
import { expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { startInspector } from "../../inspector/index.ts";
import type { Inspector } from "../../inspector/index.ts";

const door = setup({
  types: { context: {} as { opened: number; key: string }, events: {} as { type: "push" } | { type: "lock" } },
  guards: { isUnlocked: () => true },
}).createMachine({
  id: "door",
  context: { opened: 0, key: "planted-secret-4711" },
  initial: "shut",
  states: {
    shut: {
      initial: "free",
      on: { push: { target: "open", guard: "isUnlocked" } },
      states: { free: { on: { lock: "held" } }, held: {} },
    },
    open: { type: "final" },
  },
});

const redact = (value: unknown): unknown => {
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? undefined : JSON.parse(text.replaceAll("planted-secret-4711", "<redacted>"));
};

async function started(): Promise<Inspector> {
  const inspector = await startInspector({ redact });
  onTestFinished(() => inspector.close());
  return inspector;
}

const address = (inspector: Inspector, path: string): string =>
  `${inspector.url.replace("http://", "")}${path}?token=${inspector.token}`;

function openDoor(inspector: Inspector): void {
  const actor = createActor(door, { id: "front", inspect: inspector.observe }).start();
  actor.send({ type: "lock" });
  actor.send({ type: "push" });
}

test("a receiver of @statelyai/inspect sees the chart, the events and the states", async () => {
  const inspector = await started();
  const seen: StatelyInspectionEvent[] = [];
  createWebSocketReceiver({ server: `ws://${address(inspector, "stately")}` }).subscribe((event) => seen.push(event));
  await vi.waitUntil(() => inspector.attached === 1);
  openDoor(inspector);
  await vi.waitUntil(() => seen.some((each) => each.type === "@xstate.snapshot" && each.snapshot.status === "done"));

  const [introduced] = seen;
  expect(introduced).toMatchObject({ type: "@xstate.actor", name: "front" });
  const definition = JSON.parse(String(introduced?.type === "@xstate.actor" && introduced.definition)) as object;
  expect(definition).toMatchObject({
    id: "door",
    initial: "shut",
    states: { shut: { on: { push: [{ target: ["#door.open"], guard: "isUnlocked" }] } }, open: { type: "final" } },
  });
  const events = seen.flatMap((each) => (each.type === "@xstate.event" ? [each.event.type] : []));
  expect(events).toEqual(["xstate.init", "lock", "push"]);
  const states = seen.flatMap((each): readonly unknown[] =>
    each.type === "@xstate.snapshot" ? [Reflect.get(each.snapshot, "value")] : [],
  );
  expect(states).toEqual([{ shut: "free" }, { shut: "held" }, "open"]);
  expect(new Set(seen.map((each) => each.sessionId)).size).toBe(1);
  expect(JSON.stringify(seen)).not.toContain("planted-secret-4711");
});

interface Received {
  readonly type: string;
  readonly sessionId: string;
  readonly machine?: { readonly id: string; readonly states: Readonly<Record<string, unknown>> };
  readonly state?: { readonly value: unknown; readonly event: { readonly type: string } };
  readonly event?: { readonly name: string };
}

/** The clients of XState 4 live in a workspace with an XState of their own. */
function v4Clients() {
  // Found from that workspace alone: from here there is no such package.
  const client = "@xstate/inspect";
  const require = createRequire(new URL("v4/package.json", import.meta.url));
  // Untyped here: their types need that other XState.
  return require(client) as {
    createWebSocketReceiver(options: { readonly server: string }): {
      subscribe(observer: (event: Received) => void): unknown;
    };
  };
}

test("a receiver of @xstate/inspect (XState 4) makes machines and states of what it is told", async () => {
  const inspector = await started();
  // Its client expects a browser.
  vi.stubGlobal("WebSocket", WebSocket);
  onTestFinished(() => void vi.unstubAllGlobals());
  const seen: Received[] = [];
  v4Clients()
    .createWebSocketReceiver({ server: address(inspector, "v4") })
    .subscribe((event) => seen.push(event));
  await vi.waitUntil(() => inspector.attached === 1);
  openDoor(inspector);
  await vi.waitUntil(() => seen.some((each) => each.type === "service.stop"));

  // What it hands on is parsed by XState 4 itself: a machine that it could not build would throw here.
  const [registered] = seen;
  expect(registered?.type).toBe("service.register");
  expect(registered?.machine?.id).toBe("door");
  expect(Object.keys(registered?.machine?.states ?? {})).toEqual(["shut", "open"]);
  const states = seen.flatMap((each) => (each.type === "service.state" ? [each.state?.value] : []));
  expect(states).toEqual([{ shut: "free" }, { shut: "held" }, "open"]);
  const events = seen.flatMap((each) => (each.type === "service.event" ? [each.event?.name] : []));
  expect(events).toEqual(["xstate.init", "lock", "push"]);
  expect(JSON.stringify(seen.map((each) => each.state))).not.toContain("planted-secret-4711");
  // Its `xstate.inspecting` is no command.
  expect(inspector.counts.ignored).toBe(1);
});

test.each(["stately", "v4"])("without the key a client at /%s gets nothing", async (path) => {
  const inspector = await started();
  const socket = new WebSocket(`ws://${inspector.url.replace("http://", "")}${path}?token=wrong`);
  const texts: string[] = [];
  socket.on("message", (data: Buffer) => texts.push(data.toString()));
  const code = await new Promise((resolve) => socket.once("close", resolve));
  openDoor(inspector);
  expect(code).toBe(4401);
  expect(texts).toEqual([]);
});
