/**
 * A chart's layout: boxes and labelled arrows, computed in a Worker and kept.
 *
 * Owns: the layout engine, its graph and its cache. Does not own: drawing (`chart-drawing.ts`).
 *
 * Transitions with the same two ends are one arrow with a line for each. Those that stay, and what is invoked, are listed inside
 * their state. In a collapsed state nothing is drawn; arrows from and to its inside end at it.
 */
import Elk from "elkjs/lib/elk-api.js";
import type { ElkExtendedEdge, ElkNode, LayoutOptions } from "elkjs/lib/elk-api.js";
import type { NodeShown, TransitionShown } from "../charts.ts";
import type { Chart } from "./states.ts";
import { eventText } from "./words.ts";

export interface Place {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}
export interface InnerLine {
  readonly text: string;
  readonly transition: TransitionShown | null;
}
export interface Box extends Place {
  readonly id: string;
  /** Null for the dot that an initial state is entered from. */
  readonly node: NodeShown | null;
  readonly lines: readonly InnerLine[];
  readonly columns: number;
  readonly columnPx: number;
  readonly isCollapsed: boolean;
  readonly hasInside: boolean;
}
export interface Arrow {
  readonly id: string;
  readonly transitions: readonly TransitionShown[];
  readonly points: readonly { readonly x: number; readonly y: number }[];
  readonly label: Place | null;
}
export interface Drawing extends Pick<Place, "width" | "height"> {
  readonly boxes: readonly Box[];
  readonly arrows: readonly Arrow[];
}
export interface Wanted {
  readonly nodes: Chart;
  readonly collapsed: ReadonlySet<string>;
}

export const lineHeightPx = 16;
export const headPx = 30;
const charPx = 6.4;
const drawingsMax = 60;
const largeNodes = 80;
const cache = new Map<string, Promise<Drawing>>();
let engine: InstanceType<typeof Elk.default> | undefined;

export const transitionText = ({ event, guard }: TransitionShown): string =>
  `${eventText(event)}${guard === undefined ? "" : ` [${guard}]`}`;

/** `key` names the chart and all that its drawing depends on. */
export function drawingOf(key: string, wanted: Wanted): Promise<Drawing> {
  const known = cache.get(key);
  if (known !== undefined) return known;
  const made = layOut(wanted);
  cache.set(key, made);
  const [oldest] = cache.keys();
  if (cache.size > drawingsMax && oldest !== undefined) cache.delete(oldest);
  return made;
}

const isStaying = (node: NodeShown, { target }: TransitionShown): boolean =>
  target.length === 0 || target.every((id) => id === node.id);

function linesOf(node: NodeShown): readonly InnerLine[] {
  return [
    ...node.invoke.map(({ src }) => ({ text: `⟳ ${src}`, transition: null })),
    ...node.transitions
      .filter((each) => isStaying(node, each))
      .map((each) => ({ text: `↺ ${transitionText(each)}`, transition: each })),
  ];
}

function boxOf(node: NodeShown, wanted: Wanted): Omit<Box, keyof Place> {
  const isCollapsed = wanted.collapsed.has(node.id);
  const lines = linesOf(node);
  const hasInside = wanted.nodes.some((each) => each.parent === node.id);
  const columns = lines.length > 12 ? 3 : lines.length > 5 ? 2 : 1;
  const columnPx = Math.max(0, ...lines.map(({ text }) => text.length)) * charPx + 18;
  return { id: node.id, node, lines, columns, columnPx, isCollapsed, hasInside };
}

const options = (wanted: Wanted): LayoutOptions => ({
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.hierarchyHandling": "INCLUDE_CHILDREN",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.json.edgeCoords": "ROOT",
  "elk.json.shapeCoords": "ROOT",
  "elk.layered.spacing.nodeNodeBetweenLayers": "32",
  "elk.layered.spacing.edgeNodeBetweenLayers": "16",
  "elk.layered.spacing.edgeEdgeBetweenLayers": "12",
  "elk.spacing.nodeNode": "24",
  "elk.spacing.edgeNode": "16",
  "elk.spacing.edgeEdge": "12",
  "elk.spacing.edgeLabel": "3",
  // The better of the two takes too long for large charts.
  "elk.layered.nodePlacement.strategy": wanted.nodes.length > largeNodes ? "BRANDES_KOEPF" : "NETWORK_SIMPLEX",
});

/** Nodes are shown unless a state around them is collapsed; what is not shown is stood for by that state. */
function representatives({ nodes, collapsed }: Wanted): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const node of nodes) {
    const above = node.parent === undefined ? undefined : found.get(node.parent);
    const isHidden = above !== undefined && (above !== node.parent || collapsed.has(above));
    found.set(node.id, isHidden ? above : node.id);
  }
  return found;
}

function arrowsOf(wanted: Wanted, shownAs: ReadonlyMap<string, string>): ReadonlyMap<string, TransitionShown[]> {
  const arrows = new Map<string, TransitionShown[]>();
  for (const node of wanted.nodes)
    for (const transition of node.transitions)
      for (const target of transition.target) {
        const [from, to] = [shownAs.get(node.id), shownAs.get(target)];
        if (target === node.id || from === undefined || to === undefined || from === to) continue;
        const key = `${from}\n${to}`;
        arrows.set(key, [...(arrows.get(key) ?? []), transition]);
      }
  return arrows;
}

async function layOut(wanted: Wanted): Promise<Drawing> {
  engine ??= new Elk.default({ workerFactory: () => new Worker("elk-worker.min.js") });
  const shownAs = representatives(wanted);
  const shown = wanted.nodes.filter((node) => shownAs.get(node.id) === node.id);
  const about = new Map(shown.map((node) => [node.id, boxOf(node, wanted)]));
  const arrows = arrowsOf(wanted, shownAs);
  const initials = shown.filter(
    ({ id, initial }) => initial !== undefined && !wanted.collapsed.has(id) && about.has(initial),
  );
  const edges: ElkExtendedEdge[] = [
    ...[...arrows].map(([id, transitions]) => edgeOf(id, transitions)),
    ...initials.map(({ id, initial = "" }) => ({ id: `${id}~start`, sources: [`${id}~dot`], targets: [initial] })),
  ];
  const [root] = shown;
  if (root === undefined) return { width: 0, height: 0, boxes: [], arrows: [] };
  const hasDot = new Set(initials.map(({ id }) => id));
  const build = (node: NodeShown): ElkNode => {
    const children = shown.filter((each) => each.parent === node.id).map(build);
    if (hasDot.has(node.id)) children.unshift({ id: `${node.id}~dot`, width: 10, height: 10 });
    return elkNode(about.get(node.id) ?? boxOf(node, wanted), children, wanted);
  };
  const graph: ElkNode = { id: "$", children: [build(root)], edges, layoutOptions: options(wanted) };
  const done: ElkNode & { readonly edges?: ElkExtendedEdge[] } = await engine.layout(graph);
  return read(done, about, arrows);
}

function edgeOf(id: string, transitions: readonly TransitionShown[]): ElkExtendedEdge {
  const [source = "", target = ""] = id.split("\n");
  const texts = transitions.map(transitionText);
  const width = Math.max(...texts.map((text) => text.length)) * charPx + 10;
  const labels = [{ text: texts.join("\n"), width, height: texts.length * lineHeightPx }];
  return { id, sources: [source], targets: [target], labels };
}

function elkNode(box: Omit<Box, keyof Place>, children: readonly ElkNode[], wanted: Wanted): ElkNode {
  const rows = Math.ceil(box.lines.length / box.columns);
  const headline = (box.node?.key.length ?? 0) * 7.4 + (box.hasInside ? 50 : 24);
  const width = Math.max(80, headline, box.columnPx * Math.min(box.columns, Math.max(1, box.lines.length)) + 8);
  const height = headPx + rows * lineHeightPx + (rows > 0 ? 6 : 2);
  if (children.length === 0) return { id: box.id, width, height };
  return {
    id: box.id,
    children: [...children],
    layoutOptions: {
      ...options(wanted),
      "elk.padding": `[top=${height + 10},left=16,bottom=16,right=16]`,
      "elk.nodeSize.constraints": "MINIMUM_SIZE",
      "elk.nodeSize.minimum": `(${width},${height})`,
    },
  };
}

function read(
  done: ElkNode & { readonly edges?: ElkExtendedEdge[] },
  about: ReadonlyMap<string, Omit<Box, keyof Place>>,
  arrows: ReadonlyMap<string, TransitionShown[]>,
): Drawing {
  const boxes: Box[] = [];
  const dot = { node: null, lines: [], columns: 1, columnPx: 0, isCollapsed: false, hasInside: false };
  const collect = (node: ElkNode): void => {
    const { id, x = 0, y = 0, width = 0, height = 0 } = node;
    if (id !== "$") boxes.push({ ...(about.get(id) ?? { id, ...dot }), x, y, width, height });
    for (const child of node.children ?? []) collect(child);
  };
  collect(done);
  const drawn = (done.edges ?? []).map((edge): Arrow => {
    const [section] = edge.sections ?? [];
    const [label] = edge.labels ?? [];
    const { x = 0, y = 0, width = 0, height = 0 } = label ?? {};
    return {
      id: edge.id,
      transitions: arrows.get(edge.id) ?? [],
      points: section === undefined ? [] : [section.startPoint, ...(section.bendPoints ?? []), section.endPoint],
      label: label === undefined ? null : { x, y, width, height },
    };
  });
  return { width: done.width ?? 0, height: done.height ?? 0, boxes, arrows: drawn };
}
