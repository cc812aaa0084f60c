/**
 * A chart's layout: boxes and labelled edges, computed in a Worker and kept.
 *
 * Owns: the layout engine and its cache. Does not own: drawing (`chart-view.ts`).
 */
import Elk from "elkjs/lib/elk-api.js";
import type { ElkExtendedEdge, ElkNode } from "elkjs/lib/elk-api.js";
import type { NodeShown } from "../charts.ts";
import { eventText } from "./model.ts";

export interface Box {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}
export interface Arrow {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly event: string;
  readonly label: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
  readonly at: Box | null;
}
export interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly Box[];
  readonly arrows: readonly Arrow[];
}

const charPx = 6.7;
const cache = new Map<string, Promise<Drawing>>();
let engine: InstanceType<typeof Elk.default> | undefined;

export const innerLines = (node: NodeShown): readonly string[] => [
  ...node.invoke.map(({ src }) => `⟳ ${src}`),
  ...node.transitions
    .filter((each) => each.target.length === 0 || each.target.every((id) => id === node.id))
    .map((each) => `↺ ${eventText(each.event)}${each.guard === undefined ? "" : ` [${each.guard}]`}`),
];

export function drawingOf(key: string, nodes: readonly NodeShown[]): Promise<Drawing> {
  const known = cache.get(key);
  if (known !== undefined) return known;
  const made = layOut(nodes);
  cache.set(key, made);
  return made;
}

type About = Pick<Arrow, "source" | "target" | "event">;

function edgesOf(nodes: readonly NodeShown[]): {
  readonly labels: ReadonlyMap<string, About>;
  readonly edges: ElkExtendedEdge[];
} {
  const labels = new Map<string, About>();
  const edges: ElkExtendedEdge[] = nodes.flatMap((node) =>
    node.transitions.flatMap((transition, index) =>
      transition.target
        .filter((target) => target !== node.id)
        .map((target) => {
          const id = `${node.id}|${index}|${target}`;
          const text = `${eventText(transition.event)}${transition.guard === undefined ? "" : ` [${transition.guard}]`}`;
          labels.set(id, { source: node.id, target, event: transition.event });
          return {
            id,
            sources: [node.id],
            targets: [target],
            labels: [{ text, width: text.length * charPx + 8, height: 16 }],
          };
        }),
    ),
  );
  return { labels, edges };
}

async function layOut(nodes: readonly NodeShown[]): Promise<Drawing> {
  engine ??= new Elk.default({ workerFactory: () => new Worker("elk-worker.min.js") });
  const { labels, edges } = edgesOf(nodes);
  const build = (node: NodeShown): ElkNode => {
    const children = nodes.filter((each) => each.parent === node.id);
    const lines = innerLines(node);
    const widest = Math.max(node.key.length + 2, ...lines.map((line) => line.length));
    const size = { width: Math.max(90, widest * charPx + 24), height: 34 + lines.length * 16 };
    return children.length === 0
      ? { id: node.id, ...size }
      : {
          id: node.id,
          children: children.map(build),
          layoutOptions: {
            "elk.padding": `[top=${36 + lines.length * 16},left=16,bottom=16,right=16]`,
            "elk.nodeSize.constraints": "MINIMUM_SIZE",
            "elk.nodeSize.minimum": `(${size.width},${size.height})`,
          },
        };
  };
  const [root] = nodes;
  if (root === undefined) return { width: 0, height: 0, boxes: [], arrows: [] };
  const graph: ElkNode = {
    id: "$",
    children: [build(root)],
    edges,
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": "DOWN",
      "elk.hierarchyHandling": "INCLUDE_CHILDREN",
      "elk.edgeRouting": "ORTHOGONAL",
      "elk.json.edgeCoords": "ROOT",
      "elk.json.shapeCoords": "ROOT",
      "elk.layered.spacing.nodeNodeBetweenLayers": "36",
      "elk.spacing.nodeNode": "28",
    },
  };
  const done: ElkNode & { readonly edges?: ElkExtendedEdge[] } = await engine.layout(graph);
  return read(done, labels);
}

function read(done: ElkNode & { readonly edges?: ElkExtendedEdge[] }, labels: ReadonlyMap<string, About>): Drawing {
  const boxes: Box[] = [];
  const collect = (node: ElkNode): void => {
    const { id, x = 0, y = 0, width = 0, height = 0 } = node;
    if (id !== "$") boxes.push({ id, x, y, width, height });
    for (const child of node.children ?? []) collect(child);
  };
  collect(done);
  const arrows = (done.edges ?? []).map((edge): Arrow => {
    const [section] = edge.sections ?? [];
    const [label] = edge.labels ?? [];
    const about = labels.get(edge.id) ?? { source: "", target: "", event: "" };
    return {
      id: edge.id,
      ...about,
      label: label?.text ?? "",
      points: section === undefined ? [] : [section.startPoint, ...(section.bendPoints ?? []), section.endPoint],
      at:
        label === undefined
          ? null
          : { id: "", x: label.x ?? 0, y: label.y ?? 0, width: label.width ?? 0, height: label.height ?? 0 },
    };
  });
  return { width: done.width ?? 0, height: done.height ?? 0, boxes, arrows };
}
