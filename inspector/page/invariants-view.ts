/** Every invariant with its sentence; where one broke, the step and the shortest part of the history that shows it. */
import { invariants } from "../../machines/invariants.ts";
import type { Invariant } from "../../machines/invariants.ts";
import { h } from "./element.ts";
import type { VNode } from "./element.ts";
import { isJudged } from "./judge.ts";
import type { Break } from "./judge.ts";
import { saveSlice } from "./save.ts";
import { goTo, here, history, judge, server, show, tick } from "./store.ts";
import { button, pill } from "./ui.ts";

export function Invariants(): VNode {
  const at = tick.value >= 0 ? here() : 0;
  const known = new Set(invariants.map(({ name }) => name));
  // A checker's world has properties of its own.
  const foreign = judge.breaks.filter((each) => !known.has(each.name) && each.step <= at);
  const own = invariants.map((it) => ({
    it,
    found: judge.breakOf(it.name, at),
    earlier: judge.breaks.find((each) => each.name === it.name && each.step <= at),
  }));
  own.sort((one, other) => Number(other.found !== undefined) - Number(one.found !== undefined));
  return h("section", null, [
    h("p", { class: "muted" }, words(own.filter(({ found }) => found !== undefined).length + foreign.length)),
    h("div", { class: "cards" }, [
      ...foreign.map((found) => card({ name: found.name, sentence: found.detail, ids: [] }, found)),
      ...own.map(({ it, found, earlier }) => card(it, found, earlier)),
    ]),
  ]);
}

const words = (broken: number): string =>
  broken === 0
    ? "Nothing that can be judged here is broken."
    : `${broken} ${broken === 1 ? "is" : "are"} broken at this point.`;

function card(it: Pick<Invariant, "name" | "sentence" | "ids">, found: Break | undefined, earlier?: Break): VNode {
  const shown = found ?? earlier;
  const verdict =
    found !== undefined
      ? pill("broken", "bad")
      : isJudged(it.name)
        ? pill("holds", "good")
        : pill(server.value.mode === "live" ? "not judged live" : "not judged here", "quiet");
  return h("article", { class: `card ${found === undefined ? "" : "bad"}`, key: it.name, "data-invariant": it.name }, [
    verdict,
    h("h2", null, it.name),
    h("p", null, it.sentence),
    it.ids.length === 0 ? null : h("p", { class: "muted" }, it.ids.join(", ")),
    shown === undefined
      ? null
      : h("div", { class: "broken-at" }, [
          h(
            "p",
            { class: found === undefined ? "muted" : "problem-text" },
            `${found === undefined ? "It was broken from" : "Broke at"} step ${shown.step}${shown.detail === "" ? "" : `: ${shown.detail}`}`,
          ),
          h("div", { class: "tools" }, [
            button("Go to the step", () => {
              goTo(shown.step);
              show("log");
            }),
            button("Save the shortest recording", () => saveSlice(history, shown)),
          ]),
        ]),
  ]);
}
