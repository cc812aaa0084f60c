/**
 * Messages in pairs: what was asked, by whom, of whom, and what came of it. And the updates that they are about.
 *
 * Owns: joining begin and end, and the two sides of one request; the way of each update; rows of a diagram. Does not own:
 * drawing.
 *
 * Invariants: at most `exchangesMax` exchanges and `updatesMax` updates are kept, the newest.
 */
import type { MessageBody } from "../frames.ts";
import type { Step } from "./model.ts";
import { isMessage } from "./words.ts";

const exchangesMax = 20_000;
const updatesMax = 2_000;

export const telegramLane = "Telegram";
export const journalLane = "Journal";

export interface Exchange {
  readonly key: string;
  /** Instances; `leader` when it is not known which, or a lane. */
  from: string;
  to: string;
  readonly name: string;
  readonly way: MessageBody["way"];
  readonly id: string;
  readonly step: number;
  readonly atMs: number;
  endStep: number | null;
  endMs: number | null;
  outcome: string | null;
  updates: readonly number[];
  readonly seat: string | null;
  readonly thread: number | null;
  readonly generation: string | null;
  /** All that can be looked for, in small letters. */
  words: string;
}

export interface UpdateWay {
  readonly id: number;
  readonly exchanges: Exchange[];
}

/** Heartbeats, and polls that brought nothing: many, and alike. */
export const isRoutine = (each: Exchange): boolean =>
  each.name === "follower.heartbeat" || (each.name === "getUpdates" && each.updates.length === 0);

export class Exchanges {
  readonly list: Exchange[] = [];
  readonly updates = new Map<number, UpdateWay>();
  /** Counts exchanges that were forgotten. */
  forgotten = 0;
  readonly #open = new Map<string, Exchange>();

  /** `leader` is who leads at this moment, as far as is known. */
  add({ frame, number }: Step, leader: string | null): void {
    if (!isMessage(frame)) return;
    // Of one request the sender and the one who serves it tell: the same exchange, under the request's own id.
    const isRequest = frame.way === "in" || frame.way === "out";
    const key = isRequest ? `bus|${frame.id}` : `${frame.by}|${frame.way}|${frame.id}`;
    let exchange = this.#open.get(key);
    if (exchange === undefined) {
      exchange = begin(key, { frame, step: number, leader });
      this.#keep(exchange);
      if (frame.phase === "begin") this.#open.set(key, exchange);
    } else if (frame.way === "in") exchange.to = frame.by;
    else if (frame.way === "out") exchange.from = frame.by;
    if (frame.phase === "end") this.#end(exchange, frame, number);
    this.#noteUpdates(exchange, frame.updates ?? []);
    if (this.#open.size > exchangesMax) this.#open.clear();
  }

  #end(exchange: Exchange, frame: MessageBody & { readonly atMs?: number }, number: number): void {
    const isDone = exchange.endStep !== null && frame.way === "in";
    if (isDone) return;
    exchange.endStep = number;
    exchange.endMs = frame.atMs ?? null;
    exchange.outcome = frame.outcome ?? "ok";
    exchange.words += ` ${exchange.outcome.toLowerCase()}`;
    // The other side still tells how it saw the end.
    if (frame.way !== "in") this.#open.delete(exchange.key);
  }

  #noteUpdates(exchange: Exchange, updates: readonly number[]): void {
    for (const id of updates) {
      if (!exchange.updates.includes(id)) {
        exchange.updates = [...exchange.updates, id];
        exchange.words += ` ${id}`;
      }
      const way = this.updates.get(id) ?? { id, exchanges: [] };
      if (way.exchanges.includes(exchange)) continue;
      way.exchanges.push(exchange);
      this.updates.set(id, way);
    }
    for (const oldest of this.updates.keys()) {
      if (this.updates.size <= updatesMax) return;
      this.updates.delete(oldest);
    }
  }

  #keep(exchange: Exchange): void {
    this.list.push(exchange);
    if (this.list.length <= exchangesMax + 1_000) return;
    this.list.splice(0, 1_000);
    this.forgotten += 1_000;
  }
}

interface Begun {
  readonly frame: MessageBody & { readonly atMs?: number };
  readonly step: number;
  readonly leader: string | null;
}

function begin(key: string, { frame, step, leader }: Begun): Exchange {
  const { by, way, name, id, updates = [], seat = null, thread = null, generation = null } = frame;
  const lane = way === "telegram" ? telegramLane : way === "journal" ? journalLane : by;
  const peer = frame.peer === undefined || frame.peer === "leader" ? (leader ?? "leader") : frame.peer;
  const isServed = way === "in";
  const [from, to] = isServed ? [peer, by] : [by, way === "out" ? peer : lane];
  const words = [
    name,
    id,
    ...updates,
    seat ?? "",
    thread === null ? "" : `thread ${thread}`,
    generation ?? "",
    from,
    to,
  ];
  return {
    key,
    from,
    to,
    name,
    way,
    id,
    step,
    atMs: frame.atMs ?? 0,
    endStep: null,
    endMs: null,
    outcome: null,
    updates: [],
    seat,
    thread,
    generation,
    words: words.join(" ").toLowerCase(),
  };
}

/** What came of it is nothing that one hopes for. */
export const isBad = (exchange: Exchange): boolean =>
  exchange.outcome !== null && !/^(ok|settled|dropped|deadLettered)/.test(exchange.outcome);

/** A request, or the answer to one that something came between. */
export interface Row {
  readonly number: number;
  readonly exchange: Exchange;
  readonly part: "whole" | "begin" | "end";
}

/** Rows in order: what ended before anything else began is one row. */
export function diagramRows(exchanges: readonly Exchange[]): readonly Row[] {
  const marks = exchanges.flatMap((exchange) => [
    { number: exchange.step, exchange, isEnd: false },
    ...(exchange.endStep === null || exchange.endStep === exchange.step
      ? []
      : [{ number: exchange.endStep, exchange, isEnd: true }]),
  ]);
  marks.sort((one, other) => one.number - other.number);
  const rows: Row[] = [];
  for (let index = 0; index < marks.length; index += 1) {
    const mark = marks[index];
    if (mark === undefined) continue;
    const { number, exchange, isEnd } = mark;
    const isAlone = exchange.endStep === exchange.step || (!isEnd && marks[index + 1]?.exchange === exchange);
    rows.push({ number, exchange, part: isEnd ? "end" : isAlone ? "whole" : "begin" });
    if (isAlone && exchange.endStep !== exchange.step) index += 1;
  }
  return rows;
}

export interface Stage {
  readonly name: string;
  readonly exchange: Exchange;
  readonly step: number;
  readonly atMs: number;
  readonly isBad: boolean;
}

const stageNames: readonly (readonly [string, (each: Exchange) => boolean])[] = [
  ["fetched", (each) => each.name === "getUpdates"],
  ["admitted", (each) => each.name === "admit"],
  ["forwarded", (each) => each.way === "out" || each.way === "in"],
  ["claimed", (each) => each.name === "claim"],
  ["at its handler", (each) => each.way === "host"],
  ["given back", (each) => each.name === "return"],
  ["settled", (each) => each.name === "settle"],
  ["dropped", (each) => each.name === "drop"],
  ["dead letter", (each) => each.name === "dead letter"],
];

/** What happened to it up to the step, in order. */
export function stagesOf(way: UpdateWay, upTo: number): readonly Stage[] {
  const stages = way.exchanges.flatMap((exchange): Stage[] => {
    const name = stageNames.find(([, isIt]) => isIt(exchange))?.[0];
    const step = exchange.endStep ?? exchange.step;
    if (name === undefined || exchange.step > upTo) return [];
    const isOver = exchange.endStep !== null && step <= upTo;
    const isBad = isOver && !/^(ok|settled|dropped|deadLettered)/.test(exchange.outcome ?? "ok");
    return [
      {
        name: isOver ? name : `being ${name}`,
        exchange,
        step: isOver ? step : exchange.step,
        atMs: (isOver ? exchange.endMs : null) ?? exchange.atMs,
        isBad,
      },
    ];
  });
  return stages.sort((one, other) => one.step - other.step);
}

export const isEnd = (stage: Stage | undefined): boolean =>
  stage !== undefined && !stage.isBad && /^(settled|dropped|dead letter)$/.test(stage.name);

/** With `ack: "auto"` the settlement comes before the handler: the last word is any end that was reached. */
export const endOf = (stages: readonly Stage[]): Stage | undefined => stages.findLast(isEnd) ?? stages.at(-1);
