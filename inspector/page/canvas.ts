/**
 * The drawing of a chart, moved and sized by whoever looks: pan, zoom, fit, search, export.
 *
 * Owns: what part is seen, and how large. Does not own: layout (`layout.ts`) and shapes (`chart-drawing.ts`).
 */
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { shapes, tips } from "./chart-drawing.ts";
import type { Lit } from "./chart-drawing.ts";
import { h } from "./element.ts";
import type { Props, VNode } from "./element.ts";
import { transitionText } from "./layout.ts";
import type { Drawing, Place } from "./layout.ts";
import { savePng, saveSvg } from "./save.ts";
import { button, searchField } from "./ui.ts";

const zoomMin = 0.15;
const zoomMax = 3;
/** Smaller than this nothing can be read: what does not fit is then shown around the states that are active. */
const readable = 0.8;
const search = signal("");

interface Window {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** All of it, or the part around what is active at a size that can be read. */
function fitted(drawing: Drawing, size: Size, active: ReadonlySet<string>): Window {
  const whole = Math.min(size.width / drawing.width, size.height / drawing.height, 1.2);
  const scale = Math.max(whole, Math.min(readable, zoomMax));
  const around = whole >= readable ? drawing : focusOf(drawing, active);
  const place = (at: number, extent: number, all: number, room: number): number =>
    all * scale <= room
      ? (room - all * scale) / 2
      : Math.min(0, Math.max(room - all * scale, room / 2 - (at + extent / 2) * scale));
  const { x = 0, y = 0 } = "x" in around ? (around as Place) : {};
  return {
    scale,
    x: place(x, around.width, drawing.width, size.width),
    y: place(y, around.height, drawing.height, size.height),
  };
}

/** The innermost active state that is drawn. */
const focusOf = (drawing: Drawing, active: ReadonlySet<string>): Pick<Place, "width" | "height"> =>
  drawing.boxes.findLast((box) => active.has(box.id)) ?? drawing;

/** How one looks at it: null stays fitted. */
interface Look {
  readonly at: Window;
  readonly size: Size;
  readonly isFitted: boolean;
  readonly set: (window: Window | null) => void;
}

const zoom = ({ at, size, set }: Look, factor: number, centre = { x: size.width / 2, y: size.height / 2 }): void => {
  const scale = Math.min(zoomMax, Math.max(zoomMin, at.scale * factor));
  const by = scale / at.scale;
  set({ scale, x: centre.x - (centre.x - at.x) * by, y: centre.y - (centre.y - at.y) * by });
};
const pan = ({ at, set }: Look, x: number, y: number): void => set({ ...at, x: at.x + x, y: at.y + y });

const keys: Readonly<Record<string, (look: Look) => void>> = {
  ArrowLeft: (look) => pan(look, 60, 0),
  ArrowRight: (look) => pan(look, -60, 0),
  ArrowUp: (look) => pan(look, 0, 60),
  ArrowDown: (look) => pan(look, 0, -60),
  "+": (look) => zoom(look, 1.25),
  "-": (look) => zoom(look, 0.8),
  "0": (look) => look.set(null),
};

/** Brings the first state, or else the first transition, that is looked for to the middle. */
function find(drawing: Drawing, { at, size, set }: Look, words: string): void {
  const box = drawing.boxes.find(({ node }) => node?.key.toLowerCase().includes(words));
  const isWanted = (text: string): boolean => text.toLowerCase().includes(words);
  const arrow = drawing.arrows.find(({ transitions }) => transitions.some((each) => isWanted(transitionText(each))));
  const place = box ?? arrow?.label;
  if (words === "" || place === undefined || place === null) return;
  const scale = Math.max(0.9, at.scale);
  const middle = (from: number, extent: number, room: number): number => room / 2 - (from + extent / 2) * scale;
  set({ scale, x: middle(place.x, place.width, size.width), y: middle(place.y, place.height, size.height) });
}

export interface CanvasProps {
  readonly drawing: Drawing;
  /** Whose chart it is, for files; and what it shows, for those who cannot see it. */
  readonly title: string;
  readonly words: string;
  readonly lit: Omit<Lit, "search">;
}

function tools({ drawing, title }: CanvasProps, look: Look, svg: () => SVGSVGElement | null): VNode {
  const save = (as: (drawn: SVGSVGElement, about: Size & { readonly title: string }) => unknown) => (): void => {
    const shown = svg();
    if (shown !== null) as(shown, { title, width: drawing.width, height: drawing.height });
  };
  return h("div", { class: "tools over" }, [
    button("−", () => zoom(look, 0.8), { "aria-label": "smaller", title: "smaller (−)" }),
    button("+", () => zoom(look, 1.25), { "aria-label": "larger", title: "larger (+)" }),
    button("Fit", () => look.set(null), { title: "fit (0)", "aria-pressed": look.isFitted }),
    button("SVG", save(saveSvg), { title: "save as SVG" }),
    button("PNG", save(savePng), { title: "save as PNG" }),
    h(
      "form",
      {
        class: "find",
        onSubmit: (event: Event) => {
          event.preventDefault();
          find(drawing, look, search.value.trim().toLowerCase());
        },
      },
      searchField("find in the chart", {
        value: search.value,
        hint: "find a state, an event",
        onType: (text) => (search.value = text),
      }),
    ),
  ]);
}

/** What keys, wheel and pointer do. `drag` holds where the pointer was last. */
function handlers(look: Look, drag: { current: { readonly x: number; readonly y: number } | null }): Props {
  const drop = (): void => {
    drag.current = null;
  };
  return {
    onKeyDown: (event: KeyboardEvent) => {
      const act = keys[event.key];
      if (act === undefined || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      act(look);
    },
    onWheel: (event: WheelEvent) => {
      event.preventDefault();
      const { left, top } = (event.currentTarget as HTMLElement).getBoundingClientRect();
      zoom(look, event.deltaY < 0 ? 1.12 : 0.89, { x: event.clientX - left, y: event.clientY - top });
    },
    onPointerDown: (event: PointerEvent) => {
      if (event.target instanceof Element && event.target.closest(".toggle") !== null) return;
      (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
      drag.current = { x: event.clientX, y: event.clientY };
    },
    onPointerMove: (event: PointerEvent) => {
      if (drag.current === null) return;
      pan(look, event.clientX - drag.current.x, event.clientY - drag.current.y);
      drag.current = { x: event.clientX, y: event.clientY };
    },
    onPointerUp: drop,
    onPointerCancel: drop,
  };
}

export function Canvas(it: CanvasProps): VNode {
  const { drawing, lit, words } = it;
  const element = useRef<HTMLElement | null>(null);
  const drag = useRef<{ readonly x: number; readonly y: number } | null>(null);
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  const [moved, set] = useState<Window | null>(null);
  useLayoutEffect(() => {
    const { clientWidth: width = 0, clientHeight: height = 0 } = element.current ?? {};
    if (width !== size.width || height !== size.height) setSize({ width, height });
  });
  const at = moved ?? (size.width === 0 ? { x: 0, y: 0, scale: 1 } : fitted(drawing, size, lit.active));
  const look: Look = { at, size, set, isFitted: moved === null };
  const inside = shapes(drawing, { ...lit, search: search.value.trim().toLowerCase() });
  return h("div", { class: "canvas" }, [
    tools(it, look, () => element.current?.querySelector("svg") ?? null),
    h(
      "div",
      {
        class: "drawing",
        tabIndex: 0,
        role: "region",
        "aria-label": "drawing of the chart: arrow keys move it, + and − change its size, 0 fits it",
        ref: (found: HTMLElement | null) => (element.current = found),
        ...handlers(look, drag),
      },
      h("svg", { width: "100%", height: "100%", role: "img", "aria-label": words }, [
        tips(),
        h("g", { class: "moved", transform: `translate(${at.x} ${at.y}) scale(${at.scale})` }, inside),
      ]),
    ),
  ]);
}
