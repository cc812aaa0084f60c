/** What may not be shown, planted in each place where the inspector looks. */
import { assign, createActor, fromPromise, setup } from "xstate";
import { expect, onTestFinished, test, vi } from "vitest";
import { redactor } from "../../../adapters/host/redact.ts";
import { inspectorRedact } from "../../../inspector/redact.ts";
import { attachedViewer, started } from "./harness.ts";

const secret = "planted-secret-4711";
const words = "planted words of a person";
const name = "Planted-Name";
const redact = inspectorRedact({ plain: (value) => redactor(() => [secret]).value(value) });

const message = { message_id: 1, text: words, caption: words, from: { id: 7, first_name: name, username: name } };

const nested = (levels: number): unknown => (levels === 0 ? message : { reply_to_message: nested(levels - 1) });

test.each<[string, unknown]>([
  ["a field", { note: secret }],
  ["a key", { [secret]: 1 }],
  ["an error", { error: new Error(`failed with ${secret}`) }],
  ["somebody else's secret, by its field", { leader: { secret: "a-secret-of-another-process" } }],
  ["what a person wrote", { message }],
  ["an update as a text, as the journal keeps it", { body: JSON.stringify({ update_id: 1, message }) }],
  ["a text that was cut", { body: `{"update_id":1,"message":{"text":"${words}` }],
  ["a body that is one text", { body: JSON.stringify(words) }],
  ["a list", [[{ message }], secret]],
  ["a call's parameters as a text", { sent: JSON.stringify({ chat_id: 1, text: words }) }],
  ["a text within a text", { body: JSON.stringify({ inner: JSON.stringify({ message }) }) }],
  ["a text that nests deeper than is looked at", { body: JSON.stringify({ update_id: 1, message: nested(20) }) }],
  ["a rich text, a list of texts", { blocks: [{ text: [words, { type: "bold", text: [words] }] }], markdown: words }],
  ["a list of names", { active_usernames: [name] }],
  ["where somebody is", { location: { latitude: 47.11, longitude: 8.15 }, live: { latitude: 47.11 } }],
  ["where something is sent", { order_info: { name, shipping_address: { street_line1: words } } }],
  ["an error's own fields", Object.assign(new Error("refused"), { payload: { text: words }, cause: { message } })],
  ["a map", new Map([["text", words]])],
])("%s shows no secret, no words, no name, no place", (_place, value) => {
  const shown = JSON.stringify(redact(value));
  for (const planted of [secret, words, name, "a-secret-of-another-process", "47.11"])
    expect(shown).not.toContain(planted);
});

test("ids, and the names of threads and seats, are shown", () => {
  const value = {
    updateId: 17,
    seat: "manual:line:builder",
    thread: { threadName: "builder", target: { threadId: 3 } },
  };
  expect(redact(value)).toEqual(value);
});

test("definition, context, event, output and error of an actor pass it", async () => {
  const inspector = await started({ redact });
  const viewer = await attachedViewer(inspector);
  const chart = setup({
    types: { context: {} as { kept: string; message: unknown }, events: {} as { type: "told"; text: string } },
  }).createMachine({
    id: "planted",
    description: `never show ${secret}`,
    meta: { auth: secret },
    context: { kept: secret, message },
    on: { told: { target: ".ended", actions: assign({ kept: ({ event }) => event.text }) } },
    initial: "open",
    states: { open: { description: secret }, ended: { type: "final" } },
    output: { text: words, token: secret },
  });
  const actor = createActor(chart, { inspect: inspector.observe }).start();
  onTestFinished(() => void actor.stop());
  actor.send({ type: "told", text: words });
  await vi.waitUntil(() => viewer.frames.some((frame) => frame.kind === "snapshot" && frame.status === "done"));
  const shown = viewer.texts.join();
  for (const planted of [secret, name]) expect(shown).not.toContain(planted);
  expect(JSON.stringify(viewer.frames.filter((frame) => frame.kind === "event"))).not.toContain(words);
});

test.each<[string, (event: { secret: string; text: string }) => unknown]>([
  ["an error", () => Object.assign(new Error(`broke on ${secret}`), { payload: { text: words, from: message.from } })],
  ["what is thrown instead of one", (event) => ({ ...event, message })],
])("%s that ends an actor passes it, in the event that its parent gets as well", async (_name, thrown) => {
  const inspector = await started({ redact });
  const viewer = await attachedViewer(inspector);
  const chart = setup({
    actors: { work: fromPromise(() => Promise.reject(thrown({ secret, text: words }) as Error)) },
  }).createMachine({
    id: "failing",
    context: {},
    initial: "working",
    states: { working: { invoke: { src: "work", onError: "failed" } }, failed: { type: "final" } },
  });
  const actor = createActor(chart, { inspect: inspector.observe }).start();
  onTestFinished(() => void actor.stop());
  await viewer.frame("snapshot", (frame) => frame.status === "error");
  await viewer.frame("snapshot", (frame) => frame.chart === "failing" && frame.status === "done");
  expect(viewer.texts.join()).toContain("xstate.error.actor");
  for (const planted of [secret, words, name]) expect(viewer.texts.join()).not.toContain(planted);
});
