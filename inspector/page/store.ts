/**
 * The page's state: the history, where it is looked at, and the connection that fills it.
 *
 * Owns: the WebSocket, batches, the cursor. Does not own: drawing.
 *
 * Invariants: frames are folded as they come, the page is drawn again at most ten times a second.
 */
import { signal } from "@preact/signals";
import type { Frame, ServerBody } from "../frames.ts";
import { History } from "./model.ts";
import type { State } from "./model.ts";

export const history = new History();
/** Counts up when there is something new to draw. */
export const tick = signal(0);
export const view = signal(
  location.hash.includes("view=") ? (/view=(\w+)/.exec(location.hash)?.[1] ?? "overview") : "overview",
);
export const chosen = signal<string | null>(null);
export const search = signal("");
export const kind = signal("");
/** Step that is looked at; null = the newest, always. */
export const cursor = signal<number | null>(null);
export const link = signal("connecting");
export const server = signal<Omit<ServerBody, "kind">>({ mode: "live", maySend: false, title: "" });

const drawEveryMs = 100;
const againAfterMs = 1_000;
let isDue = false;

export const here = (): number => cursor.value ?? history.end - 1;
export function stateHere(): State {
  // Read, so that whoever draws this is drawn again.
  return tick.value >= 0 && cursor.value !== null ? history.at(cursor.value) : history.head;
}
export const nowMs = (): number =>
  cursor.value === null && server.value.mode === "live" ? Date.now() : (history.step(here())?.frame.atMs ?? Date.now());

export function goTo(step: number): void {
  const last = history.end - 1;
  cursor.value = step >= last ? null : Math.max(history.first, step);
}

function drawSoon(): void {
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
    if (frame.kind === "server") server.value = frame;
    else history.add(frame);
  }
  drawSoon();
}

export function connect(): void {
  const token = /token=([\w-]+)/.exec(location.hash)?.[1];
  if (token === undefined) {
    link.value = "The address has no key: open the one that the inspector printed, whole.";
    return;
  }
  const socket = new WebSocket(`ws://${location.host}/live`);
  socket.onopen = () => {
    socket.send(JSON.stringify({ type: "hello", token, batch: true }));
    link.value = "connected";
  };
  socket.onmessage = (message) => {
    if (typeof message.data === "string") take(message.data);
  };
  socket.onclose = ({ code }) => {
    if (code === 4401) link.value = "The key in this address is not this inspector's.";
    else {
      link.value = "not connected";
      setTimeout(connect, againAfterMs);
    }
  };
}

// A countdown moves although nothing happens.
setInterval(() => {
  if (view.value === "overview" || view.value === "chart") drawSoon();
}, 500);
