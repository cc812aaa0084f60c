/** What is known of an actor at this moment, in words; and sending it an event, where that is allowed. */
import { signal } from "@preact/signals";
import { h } from "./element.ts";
import type { VNode } from "./element.ts";
import { transitionText } from "./layout.ts";
import type { ActorState } from "./model.ts";
import { activeStates } from "./states.ts";
import type { Chart, Refusal } from "./states.ts";
import { history, nowMs, send, server } from "./store.ts";
import { button, fact, select } from "./ui.ts";
import { actorName, eventText, spanText, valueText } from "./words.ts";

interface Draft {
  readonly actor: ActorState;
  readonly type: string;
  readonly payload: string;
  readonly fault: string;
}
const draft = signal<Draft | null>(null);

const list = (title: string, items: readonly string[], tone = ""): VNode[] =>
  items.length === 0
    ? []
    : [
        h("h3", null, title),
        h(
          "ul",
          { class: `plain-list ${tone}` },
          items.map((each) => h("li", null, each)),
        ),
      ];

export function actorCard(
  actor: ActorState,
  { nodes, refused }: { readonly nodes: Chart; readonly refused: readonly Refusal[] },
): VNode {
  const at = nowMs();
  const timers = actor.timers.map(
    ({ event, delayMs, startedAtMs }) => `${eventText(event)}: ${spanText(Math.max(0, startedAtMs + delayMs - at))}`,
  );
  return h("aside", { class: "card scrolls", tabIndex: 0, "aria-label": "the actor" }, [
    h("h2", null, actorName(history.names, actor.id)),
    h("dl", null, [
      ...fact("state", valueText(actor.value) || "–"),
      ...fact("since", actor.sinceMs === null ? "before we looked" : spanText(Math.max(0, at - actor.sinceMs))),
      ...(actor.status === "active" ? [] : fact("it is", actor.status)),
      ...fact("moved by", actor.event === "" ? "nothing seen" : eventText(actor.event)),
      ...(actor.unanswered === null ? [] : fact("then", `${eventText(actor.unanswered)}, which moved nothing`)),
    ]),
    ...list("Timers", timers),
    ...list("Taken", actor.last.map(transitionText), "taken"),
    ...list(
      "Said no",
      refused.map(({ event, guard }) => `${eventText(event)} [${guard}]`),
      "refused",
    ),
    server.value.maySend ? button("Send it an event…", () => openDraft(actor, nodes)) : null,
    h("h3", null, "Context"),
    h("pre", null, actor.context === undefined ? "none" : JSON.stringify(actor.context, null, 1)),
    draft.value === null ? null : sendDialog(draft.value, nodes),
  ]);
}

/** Events that the states it is in, or those around them, know. */
function eventsOf(actor: ActorState, nodes: Chart): string[] {
  const active = activeStates(nodes, actor.value);
  const known = nodes
    .filter((node) => active.has(node.id))
    .flatMap((node) => node.transitions.map((each) => each.event));
  return [...new Set(known)].filter((event) => event !== "" && !event.startsWith("xstate."));
}

function openDraft(actor: ActorState, nodes: Chart): void {
  draft.value = { actor, type: eventsOf(actor, nodes)[0] ?? "", payload: "", fault: "" };
}

function sendDraft({ actor, type, payload }: Draft): string {
  const text = payload.trim();
  try {
    const fields: unknown = text === "" ? {} : JSON.parse(text);
    if (typeof fields !== "object" || fields === null || Array.isArray(fields))
      return "The fields must be a JSON object.";
    send({ session: actor.session, event: { ...fields, type }, ...(actor.from === "" ? {} : { from: actor.from }) });
    return "";
  } catch (error) {
    return `The fields are no JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function sendDialog(it: Draft, nodes: Chart): VNode {
  const close = (): void => {
    draft.value = null;
  };
  const name = actorName(history.names, it.actor.id);
  return h(
    "dialog",
    {
      "aria-label": `send an event to ${name}`,
      // Shown as a modal one as soon as it is there.
      ref: (found: HTMLDialogElement | null) => {
        if (found !== null && !found.open) found.showModal();
      },
      onClose: close,
    },
    [
      h(
        "form",
        {
          method: "dialog",
          onSubmit: (event: Event) => {
            event.preventDefault();
            const fault = sendDraft(it);
            if (fault === "") close();
            else draft.value = { ...it, fault };
          },
        },
        [
          h("h2", null, `Send an event to ${name}`),
          select(
            "event",
            eventsOf(it.actor, nodes).map((each) => [each, each] as const),
            {
              value: it.type,
              onPick: (type) => (draft.value = { ...it, type }),
            },
          ),
          h("textarea", {
            "aria-label": "fields of the event, as JSON",
            placeholder: '{ "field": "value" }',
            rows: 4,
            value: it.payload,
            onInput: (event: Event) =>
              (draft.value = { ...it, payload: (event.currentTarget as HTMLTextAreaElement).value }),
          }),
          it.fault === "" ? null : h("p", { class: "problem", role: "alert" }, it.fault),
          h("p", null, `This changes what ${name} does, at once. It is recorded for everybody who watches.`),
          h("div", { class: "tools" }, [
            h("button", { type: "submit", class: "danger", disabled: it.type === "" }, `Send ${it.type}`),
            button("Do not send", close),
          ]),
        ],
      ),
    ],
  );
}
