/** The inspector's page: the frame around the views, and the keys that work everywhere. */
import { effect } from "@preact/signals";
import { render } from "preact";
import { ChartView } from "./chart-view.ts";
import { h } from "./element.ts";
import type { VNode } from "./element.ts";
import { Follow } from "./follow.ts";
import { Invariants } from "./invariants-view.ts";
import { Log } from "./log.ts";
import { Overview } from "./overview.ts";
import { Sequence } from "./sequence.ts";
import { connect, goTo, here, isPlaying, judge, link, pause, play, server, show, tick, view } from "./store.ts";
import { Timeline } from "./timeline.ts";

const views: readonly (readonly [string, string, () => VNode])[] = [
  ["overview", "Overview", Overview],
  ["chart", "Charts", ChartView],
  ["sequence", "Messages", Sequence],
  ["update", "Updates", Follow],
  ["log", "Log", Log],
  ["invariants", "Invariants", Invariants],
];

const links: Readonly<Record<string, string>> = {
  connecting: "connecting",
  connected: "connected",
  lost: "not connected; trying again",
  refused: "The key in this address is not this inspector's: open the address that it printed.",
  keyless: "The address has no key: open the one that the inspector printed, whole.",
};

function tab([name, label]: (typeof views)[number], index: number): VNode {
  const isHere = view.value === name;
  const broken = name === "invariants" && tick.value >= 0 ? judge.brokenAt(here()).size : 0;
  const move = (by: number) => (): void => {
    const [next = "overview"] = views[(index + by + views.length) % views.length] ?? [];
    show(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  const moves: Readonly<Record<string, () => void>> = { ArrowRight: move(1), ArrowLeft: move(-1) };
  return h(
    "button",
    {
      type: "button",
      role: "tab",
      id: `tab-${name}`,
      key: name,
      "data-view": name,
      "aria-selected": isHere,
      "aria-controls": "view",
      tabIndex: isHere ? 0 : -1,
      onClick: () => show(name),
      onKeyDown: (event: KeyboardEvent) => {
        moves[event.key]?.();
      },
    },
    broken === 0 ? label : [label, h("span", { class: "count-bad" }, String(broken))],
  );
}

function shell(): VNode {
  const [name, , shown] = views.find(([each]) => each === view.value) ?? ["overview", "", Overview];
  const { title, mode } = server.value;
  return h("div", { class: "shell" }, [
    h("header", null, [
      h("h1", null, "Partyline"),
      h("span", { class: "title" }, title),
      h(
        "span",
        { class: `link ${link.value}`, role: "status" },
        mode === "recording" && link.value === "connected" ? "recording" : links[link.value],
      ),
    ]),
    h("nav", { role: "tablist", "aria-label": "views" }, views.map(tab)),
    h(
      "main",
      { id: "view", role: "tabpanel", "aria-labelledby": `tab-${name}`, tabIndex: -1, class: name },
      tick.value >= 0 ? shown() : null,
    ),
    Timeline(),
  ]);
}

/** Keys that step, where no field and no list has another use for them. */
function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target instanceof Element && event.target.closest("input, select, textarea, dialog, [role=tab]") !== null)
    return;
  const keys: Readonly<Record<string, () => void>> = {
    ",": () => goTo(here() - 1),
    ".": () => goTo(here() + 1),
    p: () => (isPlaying.value ? pause() : play()),
  };
  keys[event.key]?.();
}

const root = document.getElementById("app");
if (root === null) throw new Error("the page has no place for the inspector");
document.addEventListener("keydown", onKey);
effect(() => render(shell(), root));
connect();
