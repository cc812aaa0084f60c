/**
 * A list of which only the visible rows are drawn, however many there are.
 *
 * Owns: which rows are drawn, following the newest or the one that is looked at, moving by keys. Does not own: what is in
 * a row.
 */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { h, part } from "./element.ts";
import type { VNode } from "./element.ts";

export interface WindowedProps {
  readonly label: string;
  readonly count: number;
  readonly rowPx: number;
  /** Grows with the rows that left at the front, so that what is shown stays where it is. */
  readonly shift?: number;
  /** The row that is to be seen, and is followed when it changes; null = the newest, unless somebody scrolled away. */
  readonly at: number | null;
  readonly row: (index: number) => VNode;
  readonly onMove: (index: number) => void;
  readonly head?: VNode;
  readonly minWidth?: number;
}

const spare = 6;

interface Seen {
  readonly top: number;
  readonly height: number;
}

/** Keeps the scroll position where it should be, and knows which part is seen. */
function useScroll({ rowPx, at, shift = 0 }: WindowedProps) {
  const element = useRef<HTMLElement | null>(null);
  const sticks = useRef(true);
  const lastShift = useRef(shift);
  const [seen, setSeen] = useState<Seen>({ top: 0, height: 600 });
  useLayoutEffect(() => {
    const list = element.current;
    if (list === null) return;
    if (!sticks.current) list.scrollTop -= (shift - lastShift.current) * rowPx;
    lastShift.current = shift;
    if (list.clientHeight !== seen.height) setSeen({ top: list.scrollTop, height: list.clientHeight });
    if (at === null && sticks.current) list.scrollTop = list.scrollHeight;
  });
  useLayoutEffect(() => {
    const list = element.current;
    if (list === null || at === null) return;
    const headPx = list.querySelector<HTMLElement>(".list-head")?.offsetHeight ?? 0;
    const top = at * rowPx;
    if (top < list.scrollTop || top + rowPx + headPx > list.scrollTop + list.clientHeight)
      list.scrollTop = top - list.clientHeight / 2;
  }, [at]);
  const onScroll = (event: Event): void => {
    const list = event.currentTarget as HTMLElement;
    sticks.current = list.scrollTop + list.clientHeight >= list.scrollHeight - rowPx;
    setSeen({ top: list.scrollTop, height: list.clientHeight });
  };
  return { element, seen, onScroll };
}

const moves: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
const idOf = (label: string): string => `list-${label.replace(/\W+/g, "-")}`;

function shownRow({ label, rowPx, shift = 0, at, row, onMove }: WindowedProps, index: number): VNode {
  const isLater = at !== null && index > at;
  return h(
    "div",
    {
      class: `row ${index === at ? "here" : ""} ${isLater ? "later" : ""}`,
      role: "option",
      id: `${idOf(label)}-${index}`,
      "aria-selected": index === at,
      style: { top: `${index * rowPx}px`, height: `${rowPx}px` },
      key: index + shift,
      onClick: () => onMove(index),
    },
    row(index),
  );
}

function Windowed(it: WindowedProps): VNode {
  const { label, count, rowPx, at, onMove, head, minWidth = 0 } = it;
  const { element, seen, onScroll } = useScroll(it);
  const first = Math.max(0, Math.floor(seen.top / rowPx) - spare);
  const last = Math.min(count, Math.ceil((seen.top + seen.height) / rowPx) + spare);
  const rows = Array.from({ length: Math.max(0, last - first) }, (_, index) => shownRow(it, first + index));
  return h(
    "div",
    {
      class: "list scrolls",
      tabIndex: 0,
      role: "listbox",
      "aria-label": label,
      ...(at === null ? {} : { "aria-activedescendant": `${idOf(label)}-${at}` }),
      ref: (found: HTMLElement | null) => (element.current = found),
      onScroll,
      onKeyDown: (event: KeyboardEvent) => {
        const by = moves[event.key];
        if (by === undefined || count === 0) return;
        event.preventDefault();
        onMove(Math.min(count - 1, Math.max(0, (at ?? count - 1) + by)));
      },
    },
    [
      head ?? null,
      h("div", { class: "rows", style: { height: `${count * rowPx}px`, minWidth: `${minWidth}px` } }, rows),
    ],
  );
}

export const windowed = (props: WindowedProps): VNode => part(Windowed, props, props.label);
