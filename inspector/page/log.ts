/** Every step, filtered by kind, instance and text; and what one of them did. */
import { signal } from "@preact/signals";
import type { TransitionShown } from "../charts.ts";
import { differences } from "./difference.ts";
import { h } from "./element.ts";
import type { VNode } from "./element.ts";
import { Found, lastUpTo } from "./found.ts";
import { transitionText } from "./layout.ts";
import type { ActorState, Step } from "./model.ts";
import { keyOf } from "./model.ts";
import { windowed } from "./list.ts";
import { refusals } from "./states.ts";
import { chosen, cursor, followed, goTo, here, history, show, tick } from "./store.ts";
import { button, fact, searchField, select } from "./ui.ts";
import { actorName, clockText, eventText, fieldOf, isMessage, nameOf, typeOf, valueText } from "./words.ts";

export const logSearch = signal("");
const kind = signal("");
const instance = signal("");
const found = new Found<Step>();
let lost = 0;

const rowPx = 28;
const kinds = ["event", "transition", "snapshot", "message", "actor", "note", "verdict", "source", "dropped"] as const;
const kindNames: Readonly<Record<string, string>> = {
  event: "events",
  transition: "transitions",
  snapshot: "states at rest",
  message: "messages",
  actor: "beginnings",
  note: "notes",
  verdict: "verdicts",
  source: "comings and goings",
  dropped: "gaps",
};
/** How everything stands, told again and again: not something that happened. */
const isNews = (step: Step): boolean => step.frame.kind !== "line" && step.frame.kind !== "welcome";

function isWanted(step: Step): boolean {
  const { frame } = step;
  const words = logSearch.value
    .toLowerCase()
    .split(/\s+/)
    .filter((each) => each !== "");
  const text =
    words.length === 0
      ? ""
      : `${step.text} ${isMessage(frame) ? JSON.stringify(frame) : ""} ${actorId(step)}`.toLowerCase();
  return (
    isNews(step) &&
    (kind.value === "" || frame.kind === kind.value) &&
    (instance.value === "" || frame.from === instance.value) &&
    words.every((each) => text.includes(each))
  );
}

const actorId = ({ frame }: Step): string => ("actor" in frame ? frame.actor.id : "");

function steps(): readonly Step[] {
  const key = `${kind.value}|${instance.value}|${logSearch.value}`;
  const range = { first: history.first, end: history.end, at: (number: number) => history.step(number) };
  const all = found.of(key, range, isWanted);
  lost += found.forget((step) => step.number >= history.first);
  return all;
}

export function Log(): VNode {
  const wanted = tick.value >= 0 ? steps() : [];
  const names = [...history.names].map(([id, name]) => [id, name] as const);
  const at = cursor.value === null ? null : lastUpTo(wanted, cursor.value);
  const shown = at === null ? history.step(here()) : wanted[at];
  return h("section", { class: "fill" }, [
    h("div", { class: "tools" }, [
      searchField("filter", {
        value: logSearch.value,
        hint: "actor, event, text",
        onType: (text) => (logSearch.value = text),
      }),
      select("kind", [["", "all kinds"] as const, ...kinds.map((each) => [each, kindNames[each] ?? each] as const)], {
        value: kind.value,
        onPick: (value) => (kind.value = value),
      }),
      select("instance", [["", "all instances"] as const, ...names], {
        value: instance.value,
        onPick: (value) => (instance.value = value),
      }),
      h("span", { class: "muted count", role: "status" }, `${wanted.length} steps`),
    ]),
    h("div", { class: "pair log" }, [
      wanted.length === 0
        ? h("p", { class: "muted" }, "Nothing like this has happened.")
        : windowed({
            label: "steps",
            count: wanted.length,
            rowPx,
            shift: lost,
            at: at === -1 ? null : at,
            row: (index) => row(wanted[index]),
            onMove: (index) => goTo(wanted[index]?.number ?? here()),
          }),
      shown === undefined ? null : detail(shown),
    ]),
  ]);
}

const row = (step: Step | undefined): VNode =>
  step === undefined
    ? h("span", null, "")
    : h("span", { class: `line ${step.frame.kind}` }, [
        h("time", { class: "muted" }, clockText(step.frame.atMs)),
        h("span", { class: "what", title: step.text }, step.text),
      ]);

/** `undefined` has no JSON. */
const json = (value: unknown): string => (value === undefined ? "–" : JSON.stringify(value));

function changes(before: ActorState | undefined, after: ActorState | undefined): VNode[] {
  const all = differences(before?.context, after?.context);
  if (all.length === 0) return [h("p", { class: "muted" }, "The context did not change.")];
  return [
    h(
      "dl",
      { class: "difference" },
      all.map(({ path, before: was, after: is }) => [
        h("dt", null, path === "" ? "context" : path),
        h("dd", null, [
          was === undefined ? null : h("del", null, json(was)),
          is === undefined ? null : h("ins", null, json(is)),
        ]),
      ]),
    ),
  ];
}

/** What a step of an actor led to: its state and context before, and when it came to rest after it. */
function ofActor(step: Step, { id, session }: { readonly id: string; readonly session: string }): VNode[] {
  const { frame, number } = step;
  const key = keyOf(frame.from, session);
  const before = history.at(number - 1).actors.get(key);
  const rest = frame.kind === "snapshot" ? step : history.next(number, (each) => isRestOf(each, key));
  const after = rest === undefined ? undefined : history.at(rest.number).actors.get(key);
  const nodes = history.charts.get((after ?? before)?.chart ?? "") ?? [];
  // Made by the inspector's own `showTransition`.
  const taken = frame.kind === "transition" ? (frame.transitions as readonly TransitionShown[]) : [];
  const event = frame.kind === "transition" ? frame.event : frame.kind === "event" ? typeOf(frame.event) : "";
  const move =
    frame.kind === "event"
      ? history.next(number + 1, (each) => isMoveOf(each, key, rest?.number ?? number))
      : undefined;
  const moved = move?.frame.kind === "transition" ? (move.frame.transitions as readonly TransitionShown[]) : taken;
  const refused =
    event === "" || before === undefined ? [] : refusals(nodes, { value: before.value, event, taken: moved });
  const actor = after ?? before;
  return [
    h("dl", null, [
      ...fact("actor", actorName(history.names, id)),
      ...(event === "" ? [] : fact("event", eventText(event))),
      ...fact("before", valueText(before?.value) || "not there"),
      ...fact("after", valueText(after?.value) || "–"),
    ]),
    ...part(
      "Taken",
      moved.map((each) => `${each.source} → ${each.target.join(", ") || "stays"}: ${transitionText(each)}`),
    ),
    ...part(
      "Said no",
      refused.map((each) => `${eventText(each.event)} [${each.guard}]`),
    ),
    ...part(
      "Actions",
      moved.flatMap((each) => each.actions.map((action) => (typeof action === "string" ? action : action.type))),
    ),
    frame.kind === "event" && moved.length === 0 ? h("p", { class: "muted" }, "It moved nothing.") : null,
    (actor?.chart ?? null) === null || actor === undefined
      ? null
      : button("Show it in its chart", () => {
          chosen.value = actor;
          goTo(rest?.number ?? number);
          show("chart");
        }),
    h("h3", null, "Context"),
    ...changes(before, after),
  ].filter((each) => each !== null);
}

const isRestOf = ({ frame }: Step, key: string): boolean =>
  frame.kind === "snapshot" && keyOf(frame.from, frame.actor.session) === key;

const isMoveOf = ({ frame, number }: Step, key: string, until: number): boolean =>
  number <= until &&
  frame.kind === "transition" &&
  keyOf(frame.from, frame.actor.session) === key &&
  (frame.transitions as readonly unknown[]).length > 0;

const part = (title: string, items: readonly string[]): VNode[] =>
  items.length === 0
    ? []
    : [
        h("h3", null, title),
        h(
          "ul",
          { class: "plain-list" },
          items.map((each) => h("li", null, each)),
        ),
      ];

function ofMessage(step: Step): VNode[] {
  const { frame } = step;
  if (!isMessage(frame)) return [];
  const fields = Object.entries(frame).filter(
    ([key]) => !["protocol", "version", "seq", "atMs", "kind", "from", "by"].includes(key),
  );
  const [update] = frame.updates ?? [];
  return [
    h("dl", null, [
      ...fact("told by", nameOf(history.names, frame.by)),
      ...fields.flatMap(([key, value]) => fact(key, typeof value === "string" ? value : json(value))),
    ]),
    ...(update === undefined
      ? []
      : [
          button(`Follow update ${update}`, () => {
            followed.value = update;
            show("update");
          }),
        ]),
  ];
}

function detail(step: Step): VNode {
  const { frame, number } = step;
  const payload =
    frame.kind === "event" ? frame.event : frame.kind === "snapshot" ? (frame.error ?? frame.output) : undefined;
  return h("aside", { class: "card scrolls", tabIndex: 0, "aria-label": "the step" }, [
    h("h2", null, `Step ${number}`),
    h("p", null, [h("span", { class: "muted" }, `${clockText(frame.atMs)} `), step.text]),
    ...("actor" in frame ? ofActor(step, frame.actor) : ofMessage(step)),
    ...(payload === undefined || Object.keys(fieldsOf(payload)).length === 0
      ? []
      : [
          h("h3", null, frame.kind === "event" ? "Event" : "Outcome"),
          h("pre", null, JSON.stringify(payload, null, 1)),
        ]),
  ]);
}

/** An event that has nothing but its type has been told already. */
const fieldsOf = (payload: unknown): object => {
  if (typeof payload !== "object" || payload === null) return { payload };
  return Object.fromEntries(
    Object.entries(payload).filter(([key]) => key !== "type" || fieldOf(payload, "type") === undefined),
  );
};
