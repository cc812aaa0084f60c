/** One actor's chart, drawn: states it is in are lit, the transition last taken is marked. Until the layout is there, a list. */
import { signal } from "@preact/signals";
import { h } from "./element.ts";
import type { VNode } from "./element.ts";
import type { NodeShown } from "../charts.ts";
import { drawingOf, innerLines } from "./chart.ts";
import type { Drawing } from "./chart.ts";
import { activeStates, eventText, valueText } from "./model.ts";
import type { ActorState } from "./model.ts";
import { chosen, history, nowMs, stateHere } from "./store.ts";

const drawings = signal<Readonly<Record<string, Drawing | string>>>({});
const zoom = signal(1);

function wanted(key: string, nodes: readonly NodeShown[]): Drawing | string | undefined {
  const known = drawings.value[key];
  if (known === undefined)
    drawingOf(key, nodes).then(
      (drawing) => (drawings.value = { ...drawings.value, [key]: drawing }),
      (error: unknown) => (drawings.value = { ...drawings.value, [key]: String(error) }),
    );
  return known;
}

function drawn(drawing: Drawing, nodes: readonly NodeShown[], actor: ActorState): VNode {
  const active = activeStates(nodes, actor.value);
  const isTaken = (arrow: Drawing["arrows"][number]): boolean =>
    actor.last.some(
      (each) => each.source === arrow.source && each.target.includes(arrow.target) && each.event === arrow.event,
    );
  const boxes = drawing.boxes.map((box) => {
    const node = nodes.find((each) => each.id === box.id);
    if (node === undefined) return null;
    const lines = innerLines(node).map((line, index) =>
      h("text", { class: "inner", x: box.x + 10, y: box.y + 36 + index * 16 }, line),
    );
    return h("g", { class: `state ${active.has(box.id) ? "lit" : ""}`, key: box.id }, [
      h("rect", { x: box.x, y: box.y, width: box.width, height: box.height }),
      h("text", { x: box.x + 10, y: box.y + 20, "font-weight": "600" }, node.key),
      ...lines,
    ]);
  });
  const arrows = drawing.arrows.map((arrow) =>
    h("g", { class: `arrow ${isTaken(arrow) ? "taken" : ""}`, key: arrow.id }, [
      h("path", { d: `M${arrow.points.map(({ x, y }) => `${x} ${y}`).join("L")}`, "marker-end": "url(#tip)" }),
      arrow.at === null ? null : h("text", { x: arrow.at.x + 4, y: arrow.at.y + 12 }, arrow.label),
    ]),
  );
  const { width, height } = drawing;
  return h("div", { class: "drawing", tabIndex: 0, role: "region", "aria-label": "drawing of the chart" }, [
    h(
      "svg",
      {
        width: width * zoom.value,
        height: height * zoom.value,
        viewBox: `0 0 ${width} ${height}`,
        role: "img",
        "aria-label": `${actor.id} is ${valueText(actor.value)}`,
      },
      [
        h("defs", null, [
          h(
            "marker",
            {
              id: "tip",
              viewBox: "0 0 8 8",
              refX: 7,
              refY: 4,
              markerWidth: 8,
              markerHeight: 8,
              orient: "auto",
              key: "tip",
            },
            [h("path", { d: "M0 0L8 4L0 8Z", fill: "currentColor" })],
          ),
        ]),
        ...boxes,
        ...arrows,
      ],
    ),
  ]);
}

const listed = (nodes: readonly NodeShown[], actor: ActorState): VNode => {
  const active = activeStates(nodes, actor.value);
  return h(
    "ul",
    { class: "rows card" },
    nodes.map((node) =>
      h("li", { class: active.has(node.id) ? "here" : "" }, `${node.id}${active.has(node.id) ? " ●" : ""}`),
    ),
  );
};

function about(actor: ActorState): VNode {
  const at = nowMs();
  const timers = actor.timers.map(({ event, delayMs, startedAtMs }) =>
    h("dd", null, `${eventText(event)}: ${(Math.max(0, startedAtMs + delayMs - at) / 1000).toFixed(1)} s`),
  );
  return h("aside", { class: "card" }, [
    h("h2", null, actor.id),
    h("dl", null, [
      h("dt", null, "state"),
      h("dd", null, valueText(actor.value)),
      h("dt", null, "since"),
      h("dd", null, actor.sinceMs === null ? "before we looked" : `${((at - actor.sinceMs) / 1000).toFixed(1)} s`),
      h("dt", null, "last event"),
      h("dd", null, actor.event === "" ? "none seen" : eventText(actor.event)),
      h("dt", null, "timers"),
      ...(timers.length === 0 ? [h("dd", null, "none")] : timers.slice(0, 1)),
    ]),
    ...timers.slice(1),
    h("h2", null, "Context"),
    h("pre", null, JSON.stringify(actor.context, null, 1)),
  ]);
}

export function ChartView(): VNode {
  const actors = [...stateHere().actors.values()].filter((actor) => actor.chart !== null);
  const actor = actors.find((each) => each.key === chosen.value) ?? actors[0];
  if (actor === undefined) return h("p", { class: "muted" }, "No chart has been seen yet.");
  const nodes = history.charts.get(actor.chart ?? "") ?? [];
  const drawing = wanted(actor.chart ?? "", nodes);
  const zoomBy = (factor: number) => () => {
    zoom.value = Math.min(3, Math.max(0.2, zoom.value * factor));
  };
  const options = actors.map((each) =>
    h("option", { value: each.key, selected: each === actor }, `${each.id} · ${valueText(each.value)}`),
  );
  return h("section", null, [
    h("div", { class: "tools" }, [
      h(
        "select",
        {
          "aria-label": "actor",
          onChange: (event: Event) => (chosen.value = (event.currentTarget as HTMLSelectElement).value),
        },
        options,
      ),
      h("button", { type: "button", "aria-label": "smaller", onClick: zoomBy(0.8) }, "−"),
      h("button", { type: "button", "aria-label": "larger", onClick: zoomBy(1.25) }, "+"),
    ]),
    h("div", { class: "pair" }, [
      typeof drawing === "string" ? h("p", { class: "problem" }, `The chart could not be laid out: ${drawing}`) : null,
      typeof drawing === "object" ? drawn(drawing, nodes, actor) : listed(nodes, actor),
      about(actor),
    ]),
  ]);
}
