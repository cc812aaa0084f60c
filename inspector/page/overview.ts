/** How the line stands: what is wrong first, then the instances side by side, then seats, threads and the journal. */
import { signal } from "@preact/signals";
import { h } from "./element.ts";
import type { VNode } from "./element.ts";
import type { ActorState, SourceState, State } from "./model.ts";
import { chosen, cursor, goTo, here, history, judge, nowMs, server, show, stateHere } from "./store.ts";
import { button, fact, pill } from "./ui.ts";
import { actorName, clockText, fieldOf, rowsOf, seatName, spanText, textOf, valueText } from "./words.ts";

const leaseMs = 6_000;

function problemsOf(state: State): VNode[] {
  const { line } = state;
  const problems = rowsOf(fieldOf(line, "unresolved")).map(textOf);
  if (line !== null && fieldOf(line, "leader") === null) problems.push("Nobody leads.");
  const health = fieldOf(fieldOf(line, "polling"), "health");
  if (typeof health === "string" && health !== "ok") problems.push(`Polling: ${health}`);
  const dead = fieldOf(fieldOf(line, "journal"), "deadLetters");
  if (typeof dead === "number" && dead > 0) problems.push(`${dead} dead letter${dead === 1 ? "" : "s"}`);
  for (const actor of state.actors.values())
    if (actor.status === "error") problems.push(`${actorName(history.names, actor.id)} broke.`);
  const broken = [...judge.brokenAt(here())].map((name) =>
    h("p", { class: "problem", role: "status" }, [
      `Broken: ${name} `,
      button("Where", () => goTo(judge.breakOf(name, here())?.step ?? here())),
    ]),
  );
  return [...broken, ...problems.map((problem) => h("p", { class: "problem", role: "status" }, problem))];
}

const role = (value: string): readonly [string, string] => {
  const state = value.replace(/^online\./, "");
  if (state.startsWith("leading")) return ["leader", "lead"];
  if (state.startsWith("following")) return ["follower", "good"];
  return [state === "" ? "not seen" : state, state === "" ? "quiet" : "bad"];
};

const openChart = (actor: ActorState | undefined) => (): void => {
  chosen.value = actor ?? null;
  show("chart");
};

/** Instances whose actors are listed. The lists of all would be long, and are seldom read. */
const opened = signal<ReadonlySet<string>>(new Set());

function tree(source: string, actors: readonly ActorState[]): VNode {
  const isOpen = opened.value.has(source);
  const rows = actors
    .filter((actor) => isOpen && actor.chart !== null)
    .map((actor) =>
      h("li", { key: actor.key }, [
        button(actorName(history.names, actor.id).replace(/^[^/]*\//, ""), openChart(actor), { class: "plain" }),
        h("span", { class: "muted" }, valueText(actor.value)),
      ]),
    );
  const onToggle = (event: Event): void => {
    const next = new Set(opened.value);
    if ((event.currentTarget as HTMLDetailsElement).open) next.add(source);
    else next.delete(source);
    if (next.size !== opened.value.size) opened.value = next;
  };
  return h("details", { open: isOpen, onToggle }, [
    h("summary", null, `${actors.length} actor${actors.length === 1 ? "" : "s"}`),
    h("ul", { class: "tree" }, rows),
  ]);
}

function instance(source: SourceState, actors: readonly ActorState[], state: State): VNode {
  const own = actors.find((actor) => actor.id === source.id);
  const queue = actors.find((actor) => actor.id === `${source.id}/queue`);
  const seat = rowsOf(fieldOf(state.line, "seats")).find((each) => fieldOf(each, "instanceId") === source.id);
  const thread = rowsOf(fieldOf(state.line, "threads")).find((each) => fieldOf(each, "seat") === fieldOf(seat, "seat"));
  const [name, tone] = source.isGone ? ["gone", "bad"] : role(valueText(own?.value));
  const waiting = rowsOf(fieldOf(queue?.context, "items")).length;
  return h(
    "article",
    { class: `card instance ${tone}`, key: source.id, "data-instance": history.names.get(source.id) },
    [
      h("h2", null, [source.name ?? `process ${source.pid ?? source.id}`, pill(name, tone)]),
      tone === "lead" ? leaseBar(state) : null,
      h("dl", null, [
        ...fact("state", source.isGone ? "gone" : valueText(own?.value) || "–"),
        ...fact(
          "since",
          own === undefined ? "–" : own.sinceMs === null ? "before we looked" : spanText(nowMs() - own.sinceMs),
        ),
        ...leadingFact(source, state),
        ...fact("epoch", textOf(fieldOf(own?.context, "epoch"))),
        ...fact("process", textOf(source.pid)),
        ...fact(
          "thread",
          thread === undefined ? "none" : `${textOf(fieldOf(thread, "slot"))} “${textOf(fieldOf(thread, "name"))}”`,
        ),
        ...fact(
          "queue",
          `${waiting === 0 ? "empty" : `${waiting} waiting`}${valueText(queue?.value).includes("held") ? ", held" : ""}`,
        ),
      ]),
      tree(source.id, actors),
      button("Show its chart", openChart(own), { disabled: own === undefined }),
    ],
  );
}

/** Since when it leads, as the store has it: known of one that led before anybody looked. */
function leadingFact(source: SourceState, state: State): VNode[] {
  const leader = fieldOf(state.line, "leader");
  const sinceMs = fieldOf(leader, "sinceMs");
  if (source.isGone || fieldOf(leader, "instanceId") !== source.id || typeof sinceMs !== "number") return [];
  return fact("leads", `for ${spanText(Math.max(0, nowMs() - sinceMs))}, since ${clockText(sinceMs)}`);
}

function leaseBar(state: State): VNode {
  const told = Number(fieldOf(fieldOf(state.line, "leader"), "leaseRemainingMs") ?? 0);
  const left = Math.max(0, told - Math.max(0, nowMs() - (state.lineAtMs ?? nowMs())));
  return h("div", { class: "lease" }, [
    h("progress", { max: leaseMs, value: left, "aria-label": "what is left of the lease" }),
    h("span", { class: "muted" }, `lease: ${(left / 1_000).toFixed(1)} s`),
  ]);
}

function table(title: string, head: readonly string[], rows: readonly (readonly string[])[]): VNode | null {
  if (rows.length === 0) return null;
  return h("article", { class: "card wide" }, [
    h("h2", null, title),
    h("div", { class: "scrolls" }, [
      h("table", null, [
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            head.map((each) => h("th", { scope: "col" }, each)),
          ),
        ),
        h(
          "tbody",
          null,
          rows.map((row) =>
            h(
              "tr",
              null,
              row.map((cell) => h("td", null, cell)),
            ),
          ),
        ),
      ]),
    ]),
  ]);
}

function line(state: State): VNode[] {
  if (state.line === null) return [];
  const journal = fieldOf(state.line, "journal");
  const polling = fieldOf(state.line, "polling");
  const okAtMs = fieldOf(polling, "okAtMs");
  const drops = Object.entries((fieldOf(state.line, "drops") ?? {}) as Readonly<Record<string, unknown>>);
  const seats = rowsOf(fieldOf(state.line, "seats")).map((seat) => [
    seatName(textOf(fieldOf(seat, "seat"))),
    textOf(fieldOf(seat, "role")),
    textOf(fieldOf(seat, "pid")),
    textOf(fieldOf(seat, "process")),
    fieldOf(seat, "ended") === null ? "" : "ended",
  ]);
  const threads = rowsOf(fieldOf(state.line, "threads")).map((thread) => [
    textOf(fieldOf(thread, "slot")),
    textOf(fieldOf(thread, "name")),
    textOf(fieldOf(thread, "threadId")),
    seatName(textOf(fieldOf(thread, "seat"))),
    [textOf(fieldOf(thread, "state")), textOf(fieldOf(thread, "reason"))].filter((each) => each !== "").join(": "),
  ]);
  const parts = [
    h("article", { class: "card" }, [
      h("h2", null, "The line"),
      h("dl", null, [
        ...fact("epoch", textOf(fieldOf(state.line, "epoch"))),
        ...fact("waiting", textOf(fieldOf(journal, "waiting"))),
        ...fact("in hand", textOf(fieldOf(journal, "claimed"))),
        ...fact("dead letters", textOf(fieldOf(journal, "deadLetters"))),
        ...fact("polling", textOf(fieldOf(polling, "health"))),
        ...fact(
          "last poll",
          typeof okAtMs === "number" ? `${spanText(Math.max(0, (state.lineAtMs ?? okAtMs) - okAtMs))} ago` : "none",
        ),
        ...fact("next update", textOf(fieldOf(state.line, "cursor"))),
        ...drops.flatMap(([reason, count]) => fact("dropped", `${textOf(count)} ${reason}`)),
      ]),
    ]),
    table("Seats", ["seat", "role", "process", "it is", ""], seats),
    table("Threads", ["slot", "name", "thread", "seat", "state"], threads),
  ];
  return parts.filter((each) => each !== null);
}

export function Overview(): VNode {
  const state = stateHere();
  const sources = [...state.sources.values()];
  const actors = new Map<string, ActorState[]>(sources.map(({ id }) => [id, []]));
  for (const actor of state.actors.values()) if (actor.status === "active") actors.get(actor.from)?.push(actor);
  // Whoever leads comes first; those that are gone come last.
  const rank = (source: SourceState): number => {
    if (source.isGone) return 2;
    const own = actors.get(source.id)?.find((actor) => actor.id === source.id);
    return role(valueText(own?.value))[1] === "lead" ? 0 : 1;
  };
  const sorted = [...sources].sort(
    (one, other) => rank(one) - rank(other) || (one.name ?? one.id).localeCompare(other.name ?? other.id),
  );
  const alone = [...state.actors.values()].filter((actor) => actor.from === "" && actor.status === "active");
  return h("section", { class: "overview" }, [
    ...problemsOf(state),
    sources.length === 0 && alone.length === 0
      ? h(
          "p",
          { class: "muted" },
          server.value.mode === "live"
            ? "No instance has been seen yet. One that starts appears here."
            : "Nothing has happened up to here. Go on with the timeline below.",
        )
      : null,
    h("div", { class: "cards" }, [
      ...sorted.map((source) => instance(source, actors.get(source.id) ?? [], state)),
      ...alone.map(lone),
      ...line(state),
    ]),
    cursor.value !== null && server.value.mode === "live"
      ? h("p", { class: "muted" }, "You look at an earlier moment.")
      : null,
  ]);
}

/** An actor of a recording that tells of no processes: a place in the model checker's world. */
const lone = (actor: ActorState): VNode =>
  h("article", { class: "card", key: actor.key, "data-actor": actor.id }, [
    h("h2", null, actorName(history.names, actor.id)),
    h(
      "p",
      { class: "clip" },
      actor.chart === null && actor.context !== undefined ? JSON.stringify(actor.context) : valueText(actor.value),
    ),
    actor.chart === null
      ? null
      : button("Show its chart", () => {
          chosen.value = actor;
          show("chart");
        }),
  ]);
