/** What may not be shown, planted in each place where the inspector looks. */
import { assign, createActor, setup } from "xstate";
import { expect, onTestFinished, test, vi } from "vitest";
import { redactor } from "../../../adapters/host/redact.ts";
import { inspectorRedact } from "../../../inspector/redact.ts";
import { attachedViewer, started } from "./harness.ts";

const secret = "planted-secret-4711";
const words = "planted words of a person";
const name = "Planted-Name";
const redact = inspectorRedact({ plain: (value) => redactor(() => [secret]).value(value) });

const message = { message_id: 1, text: words, caption: words, from: { id: 7, first_name: name, username: name } };

test.each<[string, unknown]>([
  ["a field", { note: secret }],
  ["a key", { [secret]: 1 }],
  ["an error", { error: new Error(`failed with ${secret}`) }],
  ["somebody else's secret, by its field", { leader: { secret: "a-secret-of-another-process" } }],
  ["what a person wrote", { message }],
  ["an update as a text, as the journal keeps it", { body: JSON.stringify({ update_id: 1, message }) }],
  ["a text that was cut", { body: `{"update_id":1,"message":{"text":"${words}` }],
  ["a list", [[{ message }], secret]],
])("%s shows no secret, no words, no name", (_place, value) => {
  const shown = JSON.stringify(redact(value));
  for (const planted of [secret, words, name, "a-secret-of-another-process"]) expect(shown).not.toContain(planted);
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
