/** All messages between instances, with Telegram and with the journal, filtered. */
import { signal } from "@preact/signals";
import { diagramRows, isRoutine } from "./exchanges.ts";
import type { Exchange } from "./exchanges.ts";
import { h } from "./element.ts";
import type { VNode } from "./element.ts";
import { lanesView } from "./lanes.ts";
import { cursor, exchanges, stateHere, tick } from "./store.ts";
import { check, searchField, select } from "./ui.ts";

export const messageSearch = signal("");
const field = signal("any");
const withRoutine = signal(false);
const withJournal = signal(true);
/** A diagram of more rows than this is no diagram. */
const shownMax = 3_000;

const fields: Readonly<Record<string, (each: Exchange) => string>> = {
  any: (each) => each.words,
  update: (each) => each.updates.join(" "),
  seat: (each) => (each.seat ?? "").toLowerCase(),
  thread: (each) => (each.thread === null ? "" : `thread ${each.thread}`),
  request: (each) => `${each.id} ${each.generation ?? ""}`.toLowerCase(),
  message: (each) => each.name.toLowerCase(),
};

function isWanted(each: Exchange): boolean {
  if (!withRoutine.value && isRoutine(each)) return false;
  if (!withJournal.value && (each.way === "journal" || each.way === "host")) return false;
  const words = messageSearch.value
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const text = fields[field.value]?.(each) ?? each.words;
  return words.every((word) => text.includes(word));
}

/** Why there is nothing: nothing came, or what came is not wanted. */
function emptyText(isAnySeen: boolean): string {
  if (messageSearch.value.trim() !== "") return "No message like this has been seen.";
  if (!isAnySeen) return "No message has been seen yet. What comes appears here.";
  return "Nothing but what the boxes above leave out has been seen yet. What comes appears here.";
}

export function Sequence(): VNode {
  const state = stateHere();
  const all = tick.value >= 0 ? exchanges.list : [];
  // Around where one looks; live that is the newest.
  const until =
    cursor.value === null
      ? all.length
      : all.findLastIndex((each) => each.step <= (cursor.value ?? 0)) + 1 + shownMax / 2;
  const wanted = all.slice(Math.max(0, until - shownMax), until).filter(isWanted);
  const rows = diagramRows(wanted);
  return h("section", { class: "fill" }, [
    h("div", { class: "tools" }, [
      select(
        "filter by",
        [
          ["any", "anything"],
          ["update", "update"],
          ["seat", "seat"],
          ["thread", "thread"],
          ["request", "request"],
          ["message", "message"],
        ],
        {
          value: field.value,
          onPick: (value) => (field.value = value),
        },
      ),
      searchField("filter messages", {
        value: messageSearch.value,
        hint: "an update, a seat, a thread, a request",
        onType: (text) => (messageSearch.value = text),
      }),
      check("journal", withJournal.value, (isOn) => (withJournal.value = isOn)),
      check("heartbeats and empty polls", withRoutine.value, (isOn) => (withRoutine.value = isOn)),
    ]),
    rows.length === 0
      ? h("p", { class: "muted" }, emptyText(all.length > 0))
      : lanesView({ label: "messages", rows, state }),
  ]);
}
