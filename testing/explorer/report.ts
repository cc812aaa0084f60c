/**
 * A trace as text, as a mermaid sequence diagram, and as a recording.
 *
 * Owns: the three formats. Does not own: how a trace is found (`trace.ts`), where it is written.
 */
import { showChart } from "../../inspector/charts.ts";
import type { TraceStep } from "./trace.ts";
import type { Place } from "./world.ts";

const wordsOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** One numbered line per step, with the state values that changed. */
export function asText(title: string, steps: readonly TraceStep[]): string {
  let before: Readonly<Record<string, unknown>> = {};
  const lines = steps.map(({ words, values, issued }, index) => {
    const changed = Object.entries(values).filter(([name, value]) => wordsOf(value) !== wordsOf(before[name]));
    before = values;
    const news = changed.map(([name, value]) => `${name} → ${wordsOf(value)}`);
    const asked = issued.map((each) => `${each.place} asks ${each.words}`);
    return `${String(index + 1).padStart(4)}  ${[words, ...news, ...asked].join("\n        ")}`;
  });
  return [title, ...lines].join("\n");
}

/** Quotes, colons and semicolons end a message in mermaid. */
const escaped = (text: string): string =>
  text
    .replace(/[;#:"]/g, " ")
    .replace(/\s+/g, " ")
    .trim();

export function asMermaid(title: string, steps: readonly TraceStep[]): string {
  const world = "world";
  const places = [...new Set(steps.flatMap((each) => Object.keys(each.values)))];
  const lines = steps.flatMap(({ kind, place, words, issued }) => {
    const text = escaped(words);
    const first =
      kind === "answer" && place !== null
        ? `${world}-->>${place}: ${text}`
        : kind === "fault" && place !== null
          ? `${world}--x${place}: ${text}`
          : `Note over ${kind === "timer" ? (place ?? world) : world}: ${text}`;
    return [first, ...issued.map((each) => `${each.place}->>${world}: ${escaped(each.words)}`)];
  });
  const participants = [...places, world].map((each) => `participant ${each}`);
  return [`%% ${escaped(title)}`, "sequenceDiagram", ...[...participants, ...lines].map((each) => `  ${each}`)].join(
    "\n",
  );
}

export interface Traced {
  readonly world: string;
  readonly property: string;
  /** Which chart plays where: the recording brings them along, so that a viewer can draw them. */
  readonly places: readonly Place[];
}

/** NDJSON: a header, the charts, then one line per step. */
export function asRecording({ world, property, places }: Traced, steps: readonly TraceStep[]): string {
  const charts = Object.fromEntries(places.map(({ name, chart }) => [name, chart.machine.id]));
  const machines = new Map(places.map(({ chart }) => [chart.machine.id, chart.machine]));
  const about = { world, property, title: `${world}: ${property}`, charts, steps: steps.length };
  const lines: readonly unknown[] = [
    { format: "partyline-recording", version: 1, source: "explorer", ...about },
    ...[...machines].map(([chart, machine]) => ({
      protocol: "partyline-inspect",
      version: 1,
      seq: 0,
      kind: "chart",
      chart,
      nodes: showChart(machine),
    })),
    ...steps.map((step, index) => ({ step: index + 1, ...step })),
  ];
  return `${lines.map((each) => JSON.stringify(each)).join("\n")}\n`;
}
