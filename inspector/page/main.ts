/** The inspector's page: the shell, and the views that are lists. Charts are drawn by `chart-view.ts`. */
import { effect } from "@preact/signals";
import { render } from "preact";
import { h } from "./element.ts";
import type { ComponentChildren, VNode } from "./element.ts";
import type { Frame } from "../frames.ts";
import { ChartView } from "./chart-view.ts";
import { judge } from "./checks.ts";
import { frameText, isAbout, valueText } from "./model.ts";
import type { SourceState, State, Step } from "./model.ts";
import {
  chosen,
  connect,
  cursor,
  goTo,
  here,
  history,
  kind,
  link,
  search,
  server,
  stateHere,
  tick,
  view,
} from "./store.ts";

const rowsMax = 200;
const views: readonly (readonly [string, string, () => VNode])[] = [
  ["overview", "Overview", Overview],
  ["chart", "Charts", ChartView],
  ["sequence", "Messages", () => Rows({ isWanted: isAbout, hint: "an update, a seat, a thread, a request" })],
  ["log", "Log", () => Rows({ isWanted: (frame) => frame.kind !== "line", hint: "actor, event, text" })],
  ["checks", "Invariants", Checks],
];

const fieldOf = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
const rowsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as readonly unknown[]) : []);
const textOf = (value: unknown): string =>
  typeof value === "string" ? value : typeof value === "number" ? String(value) : "–";
const timeOf = (frame: Frame): string =>
  frame.atMs === undefined ? "" : new Date(frame.atMs).toISOString().slice(11, 23);

function problemsOf(state: State): string[] {
  const { line } = state;
  const problems = rowsOf(fieldOf(line, "unresolved")).map(textOf);
  if (line !== null && fieldOf(line, "leader") === null) problems.push("Nobody leads.");
  const health = fieldOf(fieldOf(line, "polling"), "health");
  if (typeof health === "string" && health !== "ok") problems.push(`Polling: ${health}`);
  const dead = fieldOf(fieldOf(line, "journal"), "deadLetters");
  if (typeof dead === "number" && dead > 0) problems.push(`${dead} dead letters`);
  for (const name of state.broken) problems.push(`Broken: ${name}`);
  return problems;
}

function Instance({ source, state }: { readonly source: SourceState; readonly state: State }): VNode {
  const actors = [...state.actors.values()].filter((actor) => actor.from === source.id && actor.status === "active");
  const own = actors.find((actor) => actor.id === source.id);
  const role = valueText(own?.value);
  const leader = fieldOf(state.line, "leader");
  const isLeader = fieldOf(leader, "instanceId") === source.id && !source.isGone;
  const seat = rowsOf(fieldOf(state.line, "seats")).find((each) => fieldOf(each, "instanceId") === source.id);
  const thread = rowsOf(fieldOf(state.line, "threads")).find((each) => fieldOf(each, "seat") === fieldOf(seat, "seat"));
  const left = Number(fieldOf(leader, "leaseRemainingMs") ?? 0);
  const open = (): void => {
    chosen.value = own?.key ?? null;
    view.value = "chart";
  };
  return h("article", { class: `card ${isLeader ? "leader" : ""}` }, [
    h("h2", null, `${source.name ?? "unnamed"}${isLeader ? " · leader" : ""}`),
    isLeader ? h("progress", { max: 6_000, value: left, "aria-label": "lease" }) : null,
    h("dl", null, [
      ...pair("state", source.isGone ? "gone" : role),
      ...pair("epoch", textOf(fieldOf(own?.context, "epoch"))),
      ...pair("pid", textOf(source.pid)),
      ...pair(
        "thread",
        thread === undefined ? "–" : `${textOf(fieldOf(thread, "slot"))} “${textOf(fieldOf(thread, "name"))}”`,
      ),
      ...pair("actors", String(actors.length)),
    ]),
    h("p", null, h("button", { type: "button", onClick: open, disabled: own === undefined }, "Show its chart")),
  ]);
}

const pair = (name: string, value: string): VNode[] => [h("dt", null, name), h("dd", null, value)];

function Overview(): VNode {
  const state = stateHere();
  const sources = [...state.sources.values()];
  const journal = fieldOf(state.line, "journal");
  return h("section", null, [
    ...problemsOf(state).map((problem) => h("p", { class: "problem", role: "status" }, problem)),
    sources.length === 0
      ? h("p", { class: "muted" }, "No instance has been seen yet. One that starts appears here.")
      : null,
    h("div", { class: "cards" }, [
      ...sources.map((source) => Instance({ source, state })),
      state.line === null
        ? null
        : h("article", { class: "card" }, [
            h("h2", null, "The line"),
            h("dl", null, [
              ...pair("epoch", textOf(fieldOf(state.line, "epoch"))),
              ...pair("waiting", textOf(fieldOf(journal, "waiting"))),
              ...pair("in hand", textOf(fieldOf(journal, "claimed"))),
              ...pair("dead letters", textOf(fieldOf(journal, "deadLetters"))),
              ...pair("polling", textOf(fieldOf(fieldOf(state.line, "polling"), "health"))),
            ]),
          ]),
    ]),
  ]);
}

function Rows({ isWanted, hint }: { readonly isWanted: (frame: Frame) => boolean; readonly hint: string }): VNode {
  const words = search.value.toLowerCase();
  // Of a message, every field may be what is looked for: an update's id, a seat, a generation.
  const isFound = (frame: Frame): boolean =>
    isWanted(frame) &&
    (kind.value === "" || view.value !== "log" || frame.kind === kind.value) &&
    (words === "" ||
      `${frameText(frame)} ${isAbout(frame) ? JSON.stringify(frame) : ""}`.toLowerCase().includes(words));
  const steps = tick.value >= 0 ? history.back(here(), rowsMax, isFound) : [];
  return h("section", null, [
    h("div", { class: "tools" }, [
      h("input", {
        type: "search",
        "aria-label": "filter",
        placeholder: hint,
        value: search.value,
        onInput: (event: Event) => (search.value = (event.currentTarget as HTMLInputElement).value),
      }),
      view.value === "log" ? kindSelect() : null,
    ]),
    steps.length === 0 ? h("p", { class: "muted" }, "Nothing yet.") : h("ol", { class: "rows" }, steps.map(Row)),
  ]);
}

const kindSelect = (): VNode =>
  h(
    "select",
    {
      "aria-label": "kind",
      onChange: (event: Event) => (kind.value = (event.currentTarget as HTMLSelectElement).value),
    },
    ["", "event", "transition", "snapshot", "message", "actor", "note", "source", "dropped"].map((each) =>
      h("option", { value: each, selected: each === kind.value }, each === "" ? "all kinds" : each),
    ),
  );

const Row = ({ number, frame }: Step): VNode =>
  h("li", { key: number, class: cursor.value === number ? "here" : "" }, [
    h("button", { type: "button", onClick: () => goTo(number) }, [
      h("span", { class: "muted" }, `${timeOf(frame)}  `),
      frameText(frame),
    ]),
  ]);

function Checks(): VNode {
  return h(
    "div",
    { class: "cards" },
    judge(stateHere()).map(({ it, isBroken, isSeen }) =>
      h("article", { class: "card" }, [
        h("h2", null, it.name),
        h("p", null, it.sentence),
        h(
          "p",
          { class: isBroken ? "problem" : "muted" },
          isBroken ? "Broken here" : isSeen ? "Holds here" : "Judged by recordings only",
        ),
      ]),
    ),
  );
}

function Timeline(): VNode {
  const last = Math.max(0, history.end - 1);
  const at = here();
  const button = (name: string, label: string, to: () => void): VNode =>
    h("button", { type: "button", "aria-label": label, onClick: to }, name);
  return h("footer", null, [
    button("‹", "one step back", () => goTo(at - 1)),
    h("input", {
      type: "range",
      "aria-label": "timeline",
      min: history.first,
      max: last,
      value: at,
      onInput: (event: Event) => goTo(Number((event.currentTarget as HTMLInputElement).value)),
    }),
    button("›", "one step on", () => goTo(at + 1)),
    button(cursor.value === null ? "Live" : "To the end", "to the end", () => (cursor.value = null)),
  ]);
}

function Shell({ children }: { readonly children?: ComponentChildren }): VNode {
  return h("div", { class: "shell" }, [
    h("header", null, [
      h("h1", null, "Partyline"),
      h(
        "span",
        { class: "link", role: "status" },
        `${server.value.title}${server.value.title === "" ? "" : " · "}${link.value}`,
      ),
    ]),
    h(
      "nav",
      { role: "tablist", "aria-label": "views" },
      views.map(([name, label]) =>
        h(
          "button",
          { type: "button", role: "tab", "aria-selected": view.value === name, onClick: () => (view.value = name) },
          label,
        ),
      ),
    ),
    h("main", null, children),
    Timeline(),
  ]);
}

const root = document.getElementById("app");
if (root === null) throw new Error("the page has no place for the inspector");
effect(() => {
  const shown = views.find(([name]) => name === view.value)?.[2] ?? Overview;
  render(Shell({ children: tick.value >= 0 ? shown() : null }), root);
});
connect();
