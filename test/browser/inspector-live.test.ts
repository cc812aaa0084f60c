/** The inspector's page over what happens now: the demo whose leader is killed, an event sent by hand, a crowd. */
import { readFileSync } from "node:fs";
import { assign, createActor, setup } from "xstate";
import { expect, onTestFinished, test } from "vitest";
import { startInspector } from "../../inspector/index.ts";
import { describeInBrowser } from "../support/browser/chromium.ts";
import { instances, startCrowd } from "../support/browser/crowd-feed.ts";
import { Demo } from "../support/browser/demo.ts";
import { useInspectorPages, viewNames } from "../support/browser/inspector-page.ts";
import { report, until } from "../support/line/waiting.ts";
import { longestTaskMs } from "./trace.ts";

describeInBrowser("the inspector, live", (browser) => {
  const open = useInspectorPages(browser);

  test("the demo's leader is killed: on the page the role moves, the epoch rises, and the killed one comes back", async () => {
    const demo = await Demo.start();
    onTestFinished(async () => {
      await demo.stop();
    });
    const it = await open(demo.inspectorUrl);
    for (const name of demo.names) await it.card(name).waitFor();
    const killed = demo.leader;
    await it.card(killed.name).locator(".pill", { hasText: "leader" }).waitFor();
    await it.page.locator(".lease progress").waitFor();
    await it.card(killed.name).locator("summary").click();
    await it.card(killed.name).locator(".tree", { hasText: "activation" }).waitFor();
    process.kill(killed.pid, "SIGKILL");
    const others = demo.names.filter((name) => name !== killed.name);
    const leading = it.page.locator(".instance.lead");
    const next = leading.filter({ hasText: new RegExp(others.join("|")) });
    await next.waitFor();
    await next.locator("dd", { hasText: /^2$/ }).waitFor();
    await it.page.locator(".instance", { hasText: "gone" }).waitFor();
    // Started again after three seconds, and told apart from the one that is gone.
    await it.card(killed.name).locator(".pill", { hasText: "follower" }).waitFor();
    expect(await leading.count()).toBe(1);
    await it.shoot("live-after-kill");

    await it.show("chart");
    await it.page.locator(".state.lit .name", { hasText: "leading" }).waitFor({ state: "attached" });
    await it.show("log");
    await it.named("filter").fill("is gone");
    await it.page.locator(".row", { hasText: `${killed.name} is gone` }).waitFor();
    await it.show("sequence");
    await it.page.locator(".message .label", { hasText: "follower.register" }).first().waitFor();
    await it.show("invariants");
    await it.invariant("lease/oneHolderPerEpoch").locator(".pill.good").waitFor();
    expect(await it.page.locator(".card.bad").count()).toBe(0);
  });

  const counter = setup({
    types: { context: {} as { count: number }, events: {} as { type: "count.added"; by: number } },
  }).createMachine({
    id: "counter",
    context: { count: 0 },
    initial: "counting",
    states: {
      counting: {
        on: { "count.added": { actions: assign({ count: ({ context, event }) => context.count + event.by }) } },
      },
    },
  });

  test("an event is sent by hand after being confirmed, and recorded; without leave there is no way to", async () => {
    const inspector = await startInspector({ redact: (value) => value, allowSend: true });
    const guarded = await startInspector({ redact: (value) => value });
    const actor = createActor(counter, {
      id: "counter",
      inspect: (event) => {
        inspector.observe(event);
        guarded.observe(event);
      },
    }).start();
    onTestFinished(async () => {
      actor.stop();
      await Promise.all([inspector.close(), guarded.close()]);
    });
    const it = await open(inspector.pageUrl);
    await it.show("chart");
    const ask = it.page.getByRole("button", { name: "Send it an event…" });
    await ask.click();
    await it.page.getByRole("button", { name: "Do not send" }).click();
    await ask.click();
    await it.named("fields of the event, as JSON").fill("no json");
    const confirm = it.page.getByRole("button", { name: "Send count.added" });
    await confirm.click();
    await it.page.getByRole("alert").waitFor();
    expect(actor.getSnapshot().context.count).toBe(0);
    await it.named("fields of the event, as JSON").fill('{ "by": 7 }');
    await confirm.click();
    await until("the event arrives", () => actor.getSnapshot().context.count === 7);
    await it.page.locator("aside pre", { hasText: '"count": 7' }).waitFor();
    await it.show("log");
    await it.page.locator(".row", { hasText: "a viewer sent" }).waitFor();

    const barred = await open(guarded.pageUrl);
    await barred.show("chart");
    expect(await barred.page.getByRole("button", { name: "Send it an event…" }).count()).toBe(0);
  });

  const door = setup({
    guards: { isKeyKnown: () => false },
    types: { events: {} as { type: "key.turned" } },
    delays: { closing: 3_600_000 },
  }).createMachine({
    id: "door",
    initial: "shut",
    states: {
      shut: { on: { "key.turned": { guard: "isKeyKnown", target: "open" } }, after: { closing: "open" } },
      open: {},
    },
  });

  test("a timer runs down on the page, the time in a state grows, and a guard that said no is named and drawn", async () => {
    const inspector = await startInspector({ redact: (value) => value, nowMs: () => Date.now() });
    const { observe: inspect } = inspector;
    const other = createActor(counter, { id: "counter", inspect }).start();
    const it = await open(inspector.pageUrl);
    // Made while somebody looks: how long it has been in its state is known.
    const actor = createActor(door, { id: "door", inspect }).start();
    onTestFinished(async () => {
      for (const each of [actor, other]) each.stop();
      await inspector.close();
    });
    await it.show("chart");
    await it.named("actor").selectOption({ label: "door · shut" });
    const about = it.named("the actor");
    const left = about.locator("h3:text-is('Timers') + ul li");
    await left.filter({ hasText: /closing: 59 min/ }).waitFor();
    const before = await left.textContent();
    await until("it runs down", async () => (await left.textContent()) !== before);
    await about.locator("dd", { hasText: /^[1-9]\d*\.\d s$/ }).waitFor();
    expect(await about.getByText("Said no").count()).toBe(0);
    expect(await about.getByText("moved nothing").count()).toBe(0);
    actor.send({ type: "key.turned" });
    await about.getByText("key.turned [isKeyKnown]").waitFor();
    await about.getByText("key.turned, which moved nothing").waitFor();
    await it.page.locator(".arrow.refused").waitFor({ state: "attached" });
    await it.shoot("live-timer");
  });

  test("50 instances, 2,000 actors, 1,000 events a second, a chart of 320 states: no task over 200 ms", async () => {
    const crowd = await startCrowd(1_000);
    onTestFinished(() => crowd.close());
    const it = await open(crowd.pageUrl);
    await expect.poll(() => it.page.locator(".instance").count()).toBe(instances);
    const traced = await longestTaskMs(browser(), it.page, async () => {
      for (const view of viewNames) await it.show(view);
      await it.show("log");
      await it.named("filter").fill("lease");
      await it.page.locator(".row", { hasText: "lease" }).first().waitFor();
      await it.show("chart");
      await it.named("instance").selectOption({ label: "Agent 0" });
      await it.named("actor").selectOption({ label: "Agent 0/large · g0.s0" });
      await it.page.locator('.state .name:text-is("g15")').waitFor({ state: "attached" });
      const from = crowd.told();
      await until("it has gone on for a while", () => crowd.told() > from + 2_000);
    });
    report(`longest task of the page's main thread: ${traced.toFixed(0)} ms of processor time`);
    expect(traced).toBeLessThan(200);
  });
});

test("the first load is under 1 MB compressed", async () => {
  const { firstLoadBytes, pages } = await import("../../scripts/lib/project.mjs");
  const page = pages.find(({ to }: { readonly to: string }) => to === "inspector-page");
  const bytes = await firstLoadBytes("dist/inspector-page");
  expect(bytes).toBeGreaterThan(readFileSync("dist/inspector-page/index.html").length);
  expect(bytes).toBeLessThan(page?.firstLoadBytesMax ?? 0);
});
