/** One update from `getUpdates` to its settlement, across instances. */
import { signal } from "@preact/signals";
import { diagramRows, endOf, isEnd, stagesOf } from "./exchanges.ts";
import type { Exchange, UpdateWay } from "./exchanges.ts";
import { h } from "./element.ts";
import type { VNode } from "./element.ts";
import { lanesView } from "./lanes.ts";
import { chosen, exchanges, followed, goTo, here, history, show, stateHere, tick } from "./store.ts";
import { button, searchField } from "./ui.ts";
import { fieldOf, nameOf, seatName, spanText, valueText } from "./words.ts";

const search = signal("");
const listedMax = 60;

export function Follow(): VNode {
  const upTo = here();
  const all =
    tick.value >= 0
      ? [...exchanges.updates.values()].filter((way) => (way.exchanges[0]?.step ?? Infinity) <= upTo)
      : [];
  const wanted = all
    .filter((way) => String(way.id).includes(search.value.trim()))
    .slice(-listedMax)
    .reverse();
  const way = exchanges.updates.get(followed.value ?? -1) ?? wanted[0];
  return h("section", { class: "fill" }, [
    h("div", { class: "tools" }, [
      searchField("find an update", {
        value: search.value,
        hint: "an update's number",
        onType: (text) => (search.value = text),
      }),
    ]),
    way === undefined
      ? h("p", { class: "muted" }, "No update has been seen at this point.")
      : h("div", { class: "pair updates" }, [
          h("div", { class: "way" }, [...oneWay(way, upTo)]),
          h("aside", { class: "card scrolls", "aria-label": "updates" }, [
            h(
              "ul",
              { class: "tree" },
              wanted.map((each) => listed(each, { upTo, isHere: each === way })),
            ),
          ]),
        ]),
  ]);
}

function listed(way: UpdateWay, { upTo, isHere }: { readonly upTo: number; readonly isHere: boolean }): VNode {
  const end = endOf(stagesOf(way, upTo));
  return h("li", { class: isHere ? "here" : "", key: way.id }, [
    button(String(way.id), () => (followed.value = way.id), { class: "plain", "aria-pressed": isHere }),
    h("span", { class: end?.isBad === true ? "problem-text" : "muted" }, end?.name ?? ""),
  ]);
}

function oneWay(way: UpdateWay, upTo: number): VNode[] {
  const stages = stagesOf(way, upTo);
  const [first] = stages;
  const end = endOf(stages);
  const state = stateHere();
  const delivery = [...state.actors.values()].findLast(
    (actor) => fieldOf(fieldOf(actor.context, "facts"), "updateId") === way.id && actor.chart !== null,
  );
  const rows = diagramRows(way.exchanges.filter((each) => each.step <= upTo));
  const who = (exchange: Exchange): string =>
    exchange.seat === null ? nameOf(history.names, exchange.from) : seatName(exchange.seat);
  return [
    h("h2", null, `Update ${way.id}`),
    h(
      "p",
      { class: isEnd(end) ? "" : "muted", role: "status" },
      end === undefined || first === undefined
        ? "Not seen yet."
        : isEnd(end)
          ? `${end.name === "dead letter" ? "Set aside as a dead letter" : end.name === "settled" ? "Settled" : "Dropped"}${first === end ? "" : ` ${spanText(end.atMs - first.atMs)} after it was ${first.name}`}.`
          : `Under way: ${end.name}.`,
    ),
    h(
      "ol",
      { class: "stages" },
      stages.map((stage, index) =>
        h("li", { key: `${stage.name}${stage.step}`, class: stage.isBad ? "bad" : isEnd(stage) ? "end" : "" }, [
          button(
            [
              h("b", null, stage.name),
              h(
                "span",
                { class: "muted" },
                ` ${who(stage.exchange)}${index === 0 || first === undefined ? "" : ` +${spanText(stage.atMs - first.atMs)}`}`,
              ),
            ],
            () => goTo(stage.step),
            { class: "plain" },
          ),
          stage.isBad ? h("span", { class: "problem-text" }, ` ${stage.exchange.outcome ?? ""}`) : null,
        ]),
      ),
    ),
    delivery === undefined
      ? null
      : button(`Its delivery: ${valueText(delivery.value)}`, () => {
          chosen.value = delivery;
          show("chart");
        }),
    lanesView({ label: `messages of update ${way.id}`, rows, state }),
  ].filter((each) => each !== null);
}
