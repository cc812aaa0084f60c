/**
 * A laid-out chart as SVG: states that an actor is in are lit, the transition last taken is marked, guards that said no are
 * dashed.
 *
 * Owns: shapes. Does not own: where they are (`layout.ts`), panning and zooming (`chart-view.ts`).
 */
import type { TransitionShown } from "../charts.ts";
import { h } from "./element.ts";
import type { VNode } from "./element.ts";
import { headPx, lineHeightPx, transitionText } from "./layout.ts";
import type { Arrow, Box, Drawing } from "./layout.ts";
import type { Refusal } from "./states.ts";

export interface Lit {
  readonly active: ReadonlySet<string>;
  readonly taken: readonly TransitionShown[];
  readonly refused: readonly Refusal[];
  /** In small letters; what contains it is marked. */
  readonly search: string;
  readonly onToggle: (id: string) => void;
}

const isTaken = (lit: Lit, it: TransitionShown): boolean =>
  lit.taken.some(
    (each) =>
      each.source === it.source &&
      each.event === it.event &&
      each.guard === it.guard &&
      each.target.join() === it.target.join(),
  );
const isRefused = (lit: Lit, it: TransitionShown): boolean =>
  lit.refused.some((each) => each.source === it.source && each.event === it.event && each.guard === it.guard);
const isFound = (lit: Lit, text: string): boolean => lit.search !== "" && text.toLowerCase().includes(lit.search);

/** A class for what became of a transition. */
const fate = (lit: Lit, it: TransitionShown): string =>
  `${isTaken(lit, it) ? "taken" : isRefused(lit, it) ? "refused" : ""} ${isFound(lit, transitionText(it)) ? "found" : ""}`;

function state(box: Box, lit: Lit): VNode {
  const { id, node, x, y, width, height } = box;
  if (node === null) return h("circle", { class: "dot", cx: x + 5, cy: y + 5, r: 5, key: id });
  const rows = Math.ceil(box.lines.length / box.columns);
  const lines = box.lines.map(({ text, transition }, index) =>
    h(
      "text",
      {
        class: `inner ${transition === null ? "" : fate(lit, transition)}`,
        x: x + 10 + Math.floor(index / rows) * box.columnPx,
        y: y + headPx + 12 + (index % rows) * lineHeightPx,
      },
      text,
    ),
  );
  const kind = node.type === "final" ? "final" : node.type === "parallel" ? "parallel" : "";
  return h(
    "g",
    {
      class: `state ${kind} ${box.hasInside && !box.isCollapsed ? "around" : ""} ${lit.active.has(id) ? "lit" : ""} ${isFound(lit, node.key) ? "found" : ""}`,
      key: id,
    },
    [
      h("rect", { x, y, width, height, rx: 8 }),
      kind === "final"
        ? h("rect", { class: "inside", x: x + 3, y: y + 3, width: width - 6, height: height - 6, rx: 6 })
        : null,
      h("text", { class: "name", x: x + 10, y: y + 20 }, node.key),
      box.hasInside ? toggle(box, lit) : null,
      ...lines,
    ],
  );
}

const toggle = ({ id, node, x, y, width, isCollapsed }: Box, lit: Lit): VNode =>
  h(
    "g",
    {
      class: "toggle",
      role: "button",
      // Attributes of SVG are written small.
      tabindex: 0,
      "aria-label": `${isCollapsed ? "open" : "collapse"} ${node?.key ?? id}`,
      onClick: () => lit.onToggle(id),
      onKeyDown: (event: KeyboardEvent) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        lit.onToggle(id);
      },
    },
    [
      h("rect", { x: x + width - 26, y: y + 6, width: 18, height: 18, rx: 4 }),
      h("text", { x: x + width - 17, y: y + 19, "text-anchor": "middle" }, isCollapsed ? "+" : "−"),
    ],
  );

function arrow({ id, points, transitions, label }: Arrow, lit: Lit): VNode {
  const fates = transitions.map((each) => fate(lit, each));
  const own = fates.some((each) => each.includes("taken"))
    ? "taken"
    : fates.some((each) => each.includes("refused"))
      ? "refused"
      : "";
  const texts =
    label === null
      ? []
      : transitions.map((each, index) =>
          h(
            "text",
            { class: fates[index] ?? "", x: label.x + 5, y: label.y + 12 + index * lineHeightPx, key: index },
            `${fates[index]?.includes("refused") === true ? "✗ " : ""}${transitionText(each)}`,
          ),
        );
  return h("g", { class: `arrow ${own}`, key: id }, [
    h("path", {
      d: `M${points.map(({ x, y }) => `${x} ${y}`).join("L")}`,
      "marker-end": own === "taken" ? "url(#tip-taken)" : "url(#tip)",
    }),
    label === null
      ? null
      : h("rect", { class: "ground", x: label.x, y: label.y, width: label.width, height: label.height }),
    ...texts,
  ]);
}

const tip = (id: string): VNode =>
  h(
    "marker",
    {
      id,
      viewBox: "0 0 8 8",
      refX: 7,
      refY: 4,
      markerWidth: 8,
      markerHeight: 8,
      markerUnits: "userSpaceOnUse",
      orient: "auto",
    },
    h("path", { d: "M0 0L8 4L0 8Z" }),
  );

export const tips = (): VNode => h("defs", null, [tip("tip"), tip("tip-taken")]);

export function shapes(drawing: Drawing, lit: Lit): VNode[] {
  const arrows = [...drawing.arrows].sort((one, other) => rank(one, lit) - rank(other, lit));
  return [...drawing.boxes.map((box) => state(box, lit)), ...arrows.map((each) => arrow(each, lit))];
}

/** The one that was taken lies on top. */
const rank = ({ transitions }: Arrow, lit: Lit): number => (transitions.some((each) => isTaken(lit, each)) ? 1 : 0);
