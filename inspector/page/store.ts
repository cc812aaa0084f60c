/**
 * The page's state: the history, where it is looked at, and the connection that fills it.
 *
 * Owns: the WebSocket, batches, the cursor, playing. Does not own: drawing.
 *
 * Invariants: frames are folded as they come, the page is drawn again at most ten times a second.
 */
import { signal } from "@preact/signals";
import type { Frame, SendRequest, ServerBody } from "../frames.ts";
import { Exchanges } from "./exchanges.ts";
import { Judge } from "./judge.ts";
import { History } from "./model.ts";
import type { ActorState, State } from "./model.ts";
import { fieldOf } from "./words.ts";

export let history = new History();
export let judge = new Judge();
export let exchanges = new Exchanges();

const fromHash = (name: string): string | null => new RegExp(`[#&]${name}=([^&]*)`).exec(location.hash)?.[1] ?? null;

/** Counts up when there is something new to draw. */
export const tick = signal(0);
export const view = signal(fromHash("view") ?? "overview");
/** The actor whose chart is shown. */
export const chosen = signal<Pick<ActorState, "key" | "id" | "from"> | null>(null);
/** Update that is followed. */
export const followed = signal<number | null>(null);
/** Step that is looked at; null = the newest, always. */
export const cursor = signal<number | null>(null);
export const speed = signal(1);
export const isPlaying = signal(false);
export const link = signal<"connecting" | "connected" | "lost" | "refused" | "keyless">("connecting");
export const server = signal<Omit<ServerBody, "kind">>({ mode: "live", maySend: false, title: "" });

const drawEveryMs = 100;
const againAfterMs = 1_000;
const playEveryMs = 50;
let isDue = false;
let socket: WebSocket | null = null;
let playing: number | undefined;

export const here = (): number => cursor.value ?? history.end - 1;
export function stateHere(): State {
  // Read, so that whoever draws this is drawn again.
  return tick.value >= 0 && cursor.value !== null ? history.at(cursor.value) : history.head;
}
/** What a countdown counts to. */
export const nowMs = (): number =>
  cursor.value === null && server.value.mode === "live" ? Date.now() : (history.step(here())?.frame.atMs ?? 0);

export function goTo(step: number): void {
  const last = history.end - 1;
  // The end of a recording is a step like any other; live, the newest step is a moving one.
  cursor.value = step >= last && server.value.mode === "live" ? null : Math.min(last, Math.max(history.first, step));
}

export function goLive(): void {
  pause();
  cursor.value = null;
}

export function show(name: string): void {
  view.value = name;
  const token = fromHash("token");
  window.history.replaceState(null, "", `#${token === null ? "" : `token=${token}&`}view=${name}`);
}

export function pause(): void {
  clearInterval(playing);
  playing = undefined;
  isPlaying.value = false;
}

/** From the step that is looked at on, in the time that it took, times `speed`. */
export function play(): void {
  pause();
  const last = history.end - 1;
  if (cursor.value === null || cursor.value >= last) cursor.value = history.first;
  let atMs = history.step(here())?.frame.atMs ?? 0;
  isPlaying.value = true;
  playing = setInterval(() => {
    atMs += playEveryMs * speed.value;
    let to = here();
    for (let next = history.step(to + 1); next !== undefined && (next.frame.atMs ?? 0) <= atMs; to += 1)
      next = history.step(to + 2);
    if (to >= history.end - 1) pause();
    goTo(to);
  }, playEveryMs);
}

export function send(request: Omit<SendRequest, "type">): void {
  socket?.send(JSON.stringify({ type: "send", ...request }));
}

export function drawSoon(): void {
  if (isDue) return;
  isDue = true;
  setTimeout(() => {
    isDue = false;
    tick.value += 1;
  }, drawEveryMs);
}

function take(text: string): void {
  for (const line of text.split("\n")) {
    // The server is our own; what it shows is read as unknown where it is not made by it.
    const frame = JSON.parse(line) as Frame;
    if (frame.kind === "server") {
      server.value = frame;
      continue;
    }
    const step = history.add(frame);
    if (step === null) continue;
    exchanges.add(step, leaderIn(history.head));
    judge.add(step, history.head);
  }
  drawSoon();
}

function leaderIn({ line }: State): string | null {
  const leader = fieldOf(fieldOf(line, "leader"), "instanceId");
  return typeof leader === "string" ? leader : null;
}

/** A connection begins with everything that is kept: what was known before would come twice. */
function beginAnew(): void {
  history = new History();
  exchanges = new Exchanges();
  judge = new Judge();
  cursor.value = null;
  pause();
}

export function connect(): void {
  const token = fromHash("token");
  if (token === null) {
    link.value = "keyless";
    return;
  }
  const opened = new WebSocket(`ws://${location.host}/live`);
  socket = opened;
  opened.onopen = () => {
    beginAnew();
    opened.send(JSON.stringify({ type: "hello", token, batch: true }));
    link.value = "connected";
  };
  opened.onmessage = (message) => {
    if (typeof message.data === "string") take(message.data);
  };
  opened.onclose = ({ code }) => {
    if (code === 4401) link.value = "refused";
    else {
      link.value = "lost";
      setTimeout(connect, againAfterMs);
    }
  };
}

// A countdown moves although nothing happens.
setInterval(() => {
  if (cursor.value === null && server.value.mode === "live") drawSoon();
}, 500);
