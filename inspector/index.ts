/**
 * The public entry `partyline/inspector`: watch XState charts run, from another process on the same host.
 *
 * Owns: what is public. Does not own: anything else.
 *
 *     const inspector = await startInspector({ redact });
 *     const actor = createActor(machine, { inspect: inspector.observe }).start();
 *     // A client: new WebSocket(inspector.url.replace("http", "ws") + "live"), then send {type: "hello", token}.
 *     await inspector.close();
 *
 * It serves 127.0.0.1 only, shows what `redact` lets through, and takes no commands. What a client receives is described
 * by `Frame`.
 *
 * Not guaranteed: that a client sees everything. One that reads too slowly misses frames and is told how many; events of
 * before it attached are not replayed; facts that an actor emits are not shown, for XState tells no observer.
 */
export { startInspector } from "./server.ts";
export type { Inspector, InspectorCounts, InspectorOptions } from "./server.ts";
export { protocolName, protocolVersion } from "./frames.ts";
export type {
  ActorBody,
  ActorName,
  ActorShown,
  ChartBody,
  DroppedBody,
  EventBody,
  Frame,
  FrameBody,
  FrameHead,
  LiveBody,
  SnapshotBody,
  TransitionBody,
  WelcomeBody,
} from "./frames.ts";
export type { ActionShown, NodeShown, TransitionShown } from "./charts.ts";
