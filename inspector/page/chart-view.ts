/**
 * One actor's chart, and all that is known of the actor beside it.
 *
 * Owns: which actor is shown, which of its states are collapsed. Does not own: the drawing (`canvas.ts`), the actor's facts
 * (`actor-card.ts`). Until the layout is there, states are a list.
 */
import { signal } from "@preact/signals";
import { actorCard } from "./actor-card.ts";
import { Canvas } from "./canvas.ts";
import type { CanvasProps } from "./canvas.ts";
import { h, part } from "./element.ts";
import type { VNode } from "./element.ts";
import { drawingOf } from "./layout.ts";
import type { Drawing } from "./layout.ts";
import type { ActorState, State } from "./model.ts";
import { activeStates, refusals } from "./states.ts";
import type { Chart } from "./states.ts";
import { chosen, drawSoon, history, stateHere } from "./store.ts";
import { select } from "./ui.ts";
import { actorName, nameOf, valueText } from "./words.ts";

const drawings = new Map<string, Drawing | string>();
const collapsed = signal<Readonly<Record<string, ReadonlySet<string>>>>({});

function drawn(key: string, nodes: Chart): Drawing | string | undefined {
  const closed = collapsed.value[key] ?? new Set<string>();
  const full = `${key}|${[...closed].sort().join()}|${nodes.length}`;
  const known = drawings.get(full);
  if (known !== undefined) return known;
  drawingOf(full, { nodes, collapsed: closed }).then(
    (drawing) => {
      drawings.set(full, drawing);
      drawSoon();
    },
    (error: unknown) => {
      drawings.set(full, String(error));
      drawSoon();
    },
  );
  return undefined;
}

function toggle(key: string, id: string): void {
  const closed = new Set(collapsed.value[key] ?? []);
  if (!closed.delete(id)) closed.add(id);
  collapsed.value = { ...collapsed.value, [key]: closed };
}

/** Of the last event: what it moved, or what it could not. */
const refusedOf = (actor: ActorState, nodes: Chart) =>
  actor.unanswered === null
    ? refusals(nodes, { value: actor.leftValue ?? actor.value, event: actor.event, taken: actor.last })
    : refusals(nodes, { value: actor.value, event: actor.unanswered, taken: [] });

const listed = (nodes: Chart, actor: ActorState): VNode => {
  const active = activeStates(nodes, actor.value);
  return h("div", { class: "canvas card" }, [
    h("p", { class: "muted" }, "The drawing is being made."),
    h(
      "ul",
      { class: "tree" },
      nodes.map((node) =>
        h(
          "li",
          { class: active.has(node.id) ? "here" : "", key: node.id },
          `${node.id}${active.has(node.id) ? " ●" : ""}`,
        ),
      ),
    ),
  ]);
};

/** The one that was chosen; when it has ended, the one that came after it under the same name. */
export function chosenIn(state: State): ActorState | undefined {
  const wanted = chosen.value;
  const exact = wanted === null ? undefined : state.actors.get(wanted.key);
  if (exact !== undefined) return exact;
  const charted = [...state.actors.values()].filter((actor) => actor.chart !== null);
  return (
    charted.findLast((actor) => actor.id === wanted?.id && actor.from === wanted.from) ??
    charted.find((actor) => actor.from === wanted?.from && actor.id === wanted.from) ??
    charted.find((actor) => actor.id === actor.from && valueText(actor.value).includes("leading")) ??
    charted[0]
  );
}

function pickers(state: State, actor: ActorState): VNode {
  const charted = [...state.actors.values()].filter((each) => each.chart !== null);
  const sources = [...new Set(charted.map((each) => each.from))];
  const own = charted.filter((each) => each.from === actor.from);
  const pick = (each: ActorState | undefined): void => {
    if (each !== undefined) chosen.value = each;
  };
  return h("div", { class: "tools" }, [
    sources.length < 2
      ? null
      : select(
          "instance",
          sources.map((id) => [id, nameOf(history.names, id)] as const),
          {
            value: actor.from,
            onPick: (id) =>
              pick(
                charted.find((each) => each.from === id && each.id === id) ?? charted.find((each) => each.from === id),
              ),
          },
        ),
    select(
      "actor",
      own.map(
        (each) =>
          [
            each.key,
            `${actorName(history.names, each.id)} · ${valueText(each.value)}${each.status === "active" ? "" : ` (${each.status})`}`,
          ] as const,
      ),
      { value: actor.key, onPick: (key) => pick(state.actors.get(key)) },
    ),
  ]);
}

function canvasOf(
  actor: ActorState,
  { drawing, nodes }: { readonly drawing: Drawing; readonly nodes: Chart },
): CanvasProps {
  const title = actorName(history.names, actor.id);
  const lit = {
    active: activeStates(nodes, actor.value),
    taken: actor.last,
    refused: refusedOf(actor, nodes),
    onToggle: (id: string) => toggle(actor.chart ?? "", id),
  };
  return { drawing, title, words: `${title} is in ${valueText(actor.value)}`, lit };
}

export function ChartView(): VNode {
  const state = stateHere();
  const actor = chosenIn(state);
  if (actor === undefined) return h("p", { class: "muted" }, "No chart is known at this point.");
  const nodes = history.charts.get(actor.chart ?? "") ?? [];
  const drawing = nodes.length === 0 ? undefined : drawn(actor.chart ?? "", nodes);
  return h("section", { class: "fill" }, [
    pickers(state, actor),
    typeof drawing === "string" ? h("p", { class: "problem" }, `The chart could not be laid out: ${drawing}`) : null,
    h("div", { class: "pair" }, [
      typeof drawing === "object"
        ? part(Canvas, canvasOf(actor, { drawing, nodes }), actor.chart ?? "")
        : listed(nodes, actor),
      actorCard(actor, { nodes, refused: refusedOf(actor, nodes) }),
    ]),
  ]);
}
