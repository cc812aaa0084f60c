/** Where one looks: scrubbing, step by step, playing; steps at which something broke are marked. */
import { h } from "./element.ts";
import type { VNode } from "./element.ts";
import { cursor, goLive, goTo, here, history, isPlaying, judge, pause, play, server, speed, tick } from "./store.ts";
import { button, select } from "./ui.ts";
import { clockText } from "./words.ts";

const speeds = [0.1, 0.25, 0.5, 1, 2, 5, 10, 50] as const;

export function Timeline(): VNode {
  const last = Math.max(0, (tick.value >= 0 ? history.end : 0) - 1);
  const { first } = history;
  const at = Math.max(0, here());
  const isRecording = server.value.mode === "recording";
  const marks = judge.breaks
    .filter((each) => each.step >= first)
    .map((each) =>
      h("i", {
        class: "mark",
        key: `${each.name}${each.step}`,
        title: `${each.name} broke`,
        style: { left: `${(100 * (each.step - first)) / Math.max(1, last - first)}%` },
      }),
    );
  const step = history.step(at);
  return h("footer", null, [
    button("«", () => goTo(first), { "aria-label": "to the beginning", class: "wide-only" }),
    button("‹", () => goTo(at - 1), { "aria-label": "one step back" }),
    button(isPlaying.value ? "❚❚" : "▶", () => (isPlaying.value ? pause() : play()), {
      "aria-label": isPlaying.value ? "pause" : "play",
    }),
    button("›", () => goTo(at + 1), { "aria-label": "one step on" }),
    h("div", { class: "track" }, [
      h("div", { class: "marks" }, marks),
      h("input", {
        type: "range",
        "aria-label": "timeline",
        "aria-valuetext": `step ${at} of ${last}, ${clockText(step?.frame.atMs)}`,
        min: first,
        max: last,
        value: at,
        onInput: (event: Event) => goTo(Number((event.currentTarget as HTMLInputElement).value)),
      }),
    ]),
    h("span", { class: "muted when" }, [
      clockText(step?.frame.atMs),
      h("span", { class: "wide-only" }, ` · ${at}/${last}`),
    ]),
    select(
      "speed",
      speeds.map((each) => [String(each), `${each}×`] as const),
      { value: String(speed.value), onPick: (value) => (speed.value = Number(value)) },
    ),
    isRecording
      ? button("End", () => goTo(last), { "aria-label": "to the end", "aria-pressed": at === last })
      : button(cursor.value === null ? "Live" : "To live", goLive, {
          class: cursor.value === null ? "live" : "",
          "aria-pressed": cursor.value === null,
        }),
  ]);
}
