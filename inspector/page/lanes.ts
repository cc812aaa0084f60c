/**
 * Messages as a sequence diagram: a lane for each instance, one for Telegram, one for the journal; time runs down.
 *
 * Owns: rows, arrows and lanes. Does not own: which exchanges are shown (`sequence.ts`, `follow.ts`).
 */
import { isBad, journalLane, telegramLane } from "./exchanges.ts";
import type { Row } from "./exchanges.ts";
import { h } from "./element.ts";
import type { VNode } from "./element.ts";
import { lastUpTo } from "./found.ts";
import type { State } from "./model.ts";
import { cursor, goTo, history } from "./store.ts";
import { windowed } from "./list.ts";
import { clockText, nameOf, seatName, spanText } from "./words.ts";

const rowPx = 34;
/** How much of the page's width is not the diagram's. */
const aroundPx = 60;

export interface Lanes {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly state: State;
  readonly shift?: number;
}

function lanesOf({ rows, state }: Lanes): readonly string[] {
  const used = new Set(rows.flatMap(({ exchange }) => [exchange.from, exchange.to]));
  const instances = [...state.sources.keys()].filter((id) => used.delete(id));
  const ends = [journalLane, telegramLane].filter((id) => used.delete(id));
  return [
    ...ends.slice(-1).filter((id) => id === telegramLane),
    ...instances,
    ...used,
    ...ends.filter((id) => id !== telegramLane),
  ];
}

function labelOf({ exchange, part }: Row): string {
  const { name, updates, outcome, endMs, atMs } = exchange;
  const about = updates.length === 0 ? "" : ` ${updates.length > 2 ? `${updates.length} updates` : updates.join(", ")}`;
  const took = endMs === null || part === "begin" ? "" : `, ${spanText(endMs - atMs)}`;
  const came = outcome === null || part === "begin" ? "" : isBad(exchange) ? `: ${outcome}` : " ✓";
  return `${name}${about}${came}${exchange.way === "host" ? "" : took}`;
}

/** Room for a label: above what it says, and within the lanes, wherever that is. */
const labelPx = 280;

interface Measure {
  readonly timePx: number;
  readonly lanePx: number;
}

/** Lanes share the room there is, within what can be read. */
function measureOf(lanes: number): Measure {
  const isNarrow = window.innerWidth <= 760;
  const timePx = isNarrow ? 62 : 96;
  const room = window.innerWidth - aroundPx - timePx;
  return { timePx, lanePx: Math.min(220, Math.max(isNarrow ? 60 : 110, Math.floor(room / Math.max(1, lanes)))) };
}

function arrow(row: Row | undefined, lanes: readonly string[], { timePx, lanePx }: Measure): VNode {
  if (row === undefined) return h("span", null, "");
  const { exchange, part } = row;
  const x = (id: string): number => timePx + (lanes.indexOf(id) + 0.5) * lanePx;
  const [from, to] = [x(exchange.from), x(exchange.to)];
  const label = labelOf(row);
  const isBack = part === "end" ? to >= from : to < from;
  const [left, width] = [Math.min(from, to), Math.abs(to - from)];
  const room = timePx + lanes.length * lanePx;
  const at = Math.max(timePx, Math.min(left + width / 2 - labelPx / 2, room - labelPx - 10));
  const about = [exchange.seat === null ? "" : `seat ${seatName(exchange.seat)}`, `request ${exchange.id}`]
    .filter((each) => each !== "")
    .join(", ");
  return h(
    "span",
    { class: `message ${part} ${isBad(exchange) && part !== "begin" ? "failed" : ""}`, title: `${label}; ${about}` },
    [
      h(
        "time",
        { class: "muted" },
        clockText(part === "end" ? (exchange.endMs ?? undefined) : exchange.atMs).slice(timePx < 90 ? 6 : 0),
      ),
      h("span", { class: "label", style: { left: `${at}px`, width: `${labelPx}px` } }, label),
      width === 0
        ? h("span", { class: "point", style: { left: `${left - 4}px` } })
        : h("span", { class: `shaft ${isBack ? "back" : ""}`, style: { left: `${left}px`, width: `${width}px` } }),
    ],
  );
}

export function lanesView(it: Lanes): VNode {
  const { rows, state, label, shift = 0 } = it;
  const lanes = lanesOf(it);
  const measure = measureOf(lanes.length);
  const { timePx, lanePx } = measure;
  const width = timePx + lanes.length * lanePx;
  const at = cursor.value === null ? null : lastUpTo(rows, cursor.value);
  const head = h("div", { class: "list-head lanes", style: { width: `${width}px` } }, [
    ...lanes.map((id, index) =>
      h(
        "span",
        {
          class: "lane-name",
          title: nameOf(history.names, id),
          key: id,
          style: { left: `${timePx + index * lanePx + 4}px`, width: `${lanePx - 8}px` },
        },
        [nameOf(history.names, id), state.sources.get(id)?.isGone === true ? " (gone)" : ""],
      ),
    ),
  ]);
  return h("div", { class: "sequence", style: { "--lanes": String(lanes.length) } }, [
    windowed({
      label,
      count: rows.length,
      rowPx,
      shift,
      at: at === -1 ? null : at,
      row: (index) =>
        h("span", { class: "lane-row", style: { width: `${width}px` } }, [
          ...lanes.map((id, lane) =>
            h("i", { class: "life", key: id, style: { left: `${timePx + (lane + 0.5) * lanePx}px` } }),
          ),
          arrow(rows[index], lanes, measure),
        ]),
      onMove: (index) => goTo(rows[index]?.number ?? 0),
      head,
      minWidth: width,
    }),
  ]);
}
