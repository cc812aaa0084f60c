/** The inspector's page over recordings: looks, scrubbing to a failure, filters, the keyboard, files, and who gets nothing. */
import { readFile, writeFile } from "node:fs/promises";
import http from "node:http";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chromium } from "playwright-core";
import { WebSocket } from "ws";
import { readRecording } from "../../inspector/replay.ts";
import { startReplay } from "../../inspector/start-hub.ts";
import type { ReplayInspector } from "../../inspector/start-hub.ts";
import { asRecording, explore, traceTo } from "../../testing/explorer/index.ts";
import { quietLease } from "../model/worlds/index.ts";
import { faithfulRules, leaseWorld } from "../model/worlds/lease.world.ts";
import type { ChatLook } from "../support/browser/chat.ts";
import { describeInBrowser } from "../support/browser/chromium.ts";
import { useInspectorPages, viewNames } from "../support/browser/inspector-page.ts";
import { chromiumPath } from "../support/tools.ts";

import { stageRecording } from "../support/browser/staged-recording.ts";
import { chartContrastFaults, contrastFaults, cutTexts, hasFocusRing, layoutFaults } from "./in-page.ts";

const looks: readonly ChatLook[] = (["light", "dark"] as const).flatMap((scheme) => [
  { width: 1280, height: 800, scheme },
  { width: 390, height: 844, scheme },
]);
const everywhere = ["h1", ".link", "[role=tab][aria-selected=true]", '[aria-label="timeline"]', '[aria-label="play"]'];

describeInBrowser("the inspector over a recording", (browser) => {
  const open = useInspectorPages(browser);
  const staged = stageRecording();
  let replay: ReplayInspector;
  beforeAll(async () => {
    replay = await startReplay({ file: staged.file, port: 0 });
  });
  afterAll(async () => {
    await replay.close();
  });

  test.each(looks)("reads in the $scheme scheme at $width px: nothing outside, covered, cut or pale", async (look) => {
    const it = await open(replay.pageUrl, look);
    for (const view of viewNames) {
      await it.show(view);
      const name = `${look.width}-${look.scheme}-${view}`;
      await it.shoot(name);
      expect(await it.page.evaluate(layoutFaults, everywhere), name).toEqual([]);
      const { measured, faults } = await it.page.evaluate(contrastFaults);
      expect(faults, name).toEqual([]);
      expect(measured, `${name}: texts that were measured`).toBeGreaterThan(15);
      if (view === "sequence") expect(await it.page.evaluate(cutTexts, ".message .label"), name).toEqual([]);
      if (view !== "chart") continue;
      const drawn = await it.page.evaluate(chartContrastFaults);
      expect(drawn.faults, name).toEqual([]);
      expect(drawn.measured).toBeGreaterThan(20);
    }
    await it.scrubTo(staged.takeover);
    await it.show("chart");
    await it.page.locator(".arrow.taken").waitFor({ state: "attached" });
    await it.shoot(`${look.width}-${look.scheme}-taken`);
    expect((await it.page.evaluate(chartContrastFaults)).faults).toEqual([]);
    await it.show("log");
    expect((await it.page.evaluate(contrastFaults)).faults).toEqual([]);
  });

  test("scrubbing moves every view; the step that broke a property is found, and its slice is a recording", async () => {
    const it = await open(replay.pageUrl);
    await it.scrubTo(staged.failure - 1);
    await it.card("Birch").locator(".pill", { hasText: "leader" }).waitFor();
    expect(await it.page.locator(".problem", { hasText: "Broken" }).count()).toBe(0);
    await it.named("one step on").click();
    await it.page.locator(".problem", { hasText: "delivery/settledOnce" }).waitFor();
    await it.scrubTo(10);
    await it.card("Amber").locator(".pill", { hasText: "follower" }).waitFor();

    await it.show("invariants");
    expect(await it.page.locator(".pill.bad").count()).toBe(0);
    await it.named("to the end").click();
    const broken = it.invariant("delivery/settledOnce");
    await broken.getByText(`Broke at step ${staged.failure}: update 810000008`).waitFor();
    const [slice] = await Promise.all([
      it.page.waitForEvent("download"),
      broken.getByRole("button", { name: "Save the shortest recording" }).click(),
    ]);
    const { header, frames } = await readRecording(await slice.path());
    expect(header["property"]).toBe("delivery/settledOnce");
    expect(frames.length).toBeLessThan((await readRecording(staged.file)).frames.length);
    await broken.getByRole("button", { name: "Go to the step" }).click();
    await it.page.locator(".row.here", { hasText: "settle" }).waitFor();
    expect(await it.step()).toBe(staged.failure);
  });

  test("a counterexample of the model checker opens with its charts, and ends broken", async () => {
    // A store that gives every grant the same epoch.
    const world = leaseWorld({ ...quietLease, crashes: 1 }, { ...faithfulRules, epochAfterGrant: () => 1 });
    const found = explore(world);
    const { property, state } = found.violations[0]!;
    const steps = traceTo(found, state);
    const file = path.join(path.dirname(staged.file), "trace.ndjson");
    await writeFile(file, asRecording({ world: world.name, property, places: world.places }, steps));
    const trace = await startReplay({ file, port: 0 });
    try {
      const it = await open(trace.pageUrl);
      await it.show("chart");
      await it.page.locator(".state.lit").first().waitFor();
      await it.show("invariants");
      await it.page.locator(".card.bad", { hasText: property }).waitFor();
      await it.named("one step back").click();
      await it.page.locator(".card.bad").waitFor({ state: "detached" });
    } finally {
      await trace.close();
    }
  });

  test("the log is filtered by text, kind and instance; a row leads to the chart, with what the step changed", async () => {
    const it = await open(replay.pageUrl);
    await it.show("log");
    const rows = it.page.locator(".list .row");
    // 40 rows of 660 are drawn, however many there are.
    expect(await rows.count()).toBeLessThan(60);
    await it.named("kind").selectOption("transition");
    await it.named("filter").fill("birch leading");
    await it.page.locator(".count", { hasText: /^1 steps/ }).waitFor();
    await rows.first().click();
    const about = it.named("the step");
    await about.getByText("instance.online.leading").first().waitFor();
    await about.getByText("Taken").waitFor();
    await about.locator(".difference dt", { hasText: "epoch" }).waitFor();
    expect(await about.locator("del").first().textContent()).toBe("1");
    expect(await about.locator("ins").first().textContent()).toBe("2");
    await about.getByRole("button", { name: "Show it in its chart" }).click();
    await it.page.locator(".arrow.taken").waitFor({ state: "attached" });
    await it.page.locator(".state.lit .name", { hasText: "activating" }).waitFor({ state: "attached" });
  });

  test("messages are filtered by update, seat and request; heartbeats come when they are wanted; an update is followed", async () => {
    const it = await open(replay.pageUrl);
    await it.show("sequence");
    const labels = it.page.locator(".message .label");
    const count = () => it.page.locator(".rows").evaluate((rows) => Math.round(rows.clientHeight / 34));
    const all = await count();
    await it.named("filter by").selectOption("update");
    await it.named("filter messages").fill("810000007");
    await labels.filter({ hasText: "admit 810000007" }).waitFor();
    expect(await labels.filter({ hasText: "810000008" }).count()).toBe(0);
    await it.named("filter by").selectOption("seat");
    await it.named("filter messages").fill("cedar");
    await labels.filter({ hasText: "claim 810000008" }).waitFor();
    expect(await labels.filter({ hasText: "getUpdates" }).count()).toBe(0);
    await it.named("filter by").selectOption("request");
    await it.named("filter messages").fill("call-810000008");
    await labels.filter({ hasText: "callApi" }).waitFor();
    expect(await labels.count()).toBe(1);
    await it.named("filter by").selectOption("thread");
    await it.named("filter messages").fill("thread 2");
    await labels.nth(1).waitFor();
    expect(await labels.count()).toBe(2);
    await it.named("filter messages").fill("");
    await it.page.getByText("heartbeats and empty polls").click();
    await expect.poll(count).toBeGreaterThan(all + 250);

    await it.show("update");
    await it.page.locator("main.update h2", { hasText: "Update 810000008" }).waitFor();
    await it.page.getByRole("button", { name: "810000007" }).click();
    const stages = it.page.locator(".stages b");
    expect(await stages.allTextContents()).toEqual([
      "fetched",
      "admitted",
      "claimed",
      "at its handler",
      "forwarded",
      "settled",
    ]);
    await it.page
      .getByRole("status")
      .filter({ hasText: /^Settled \d+ ms after it was fetched/ })
      .waitFor();
    await stages.nth(2).click();
    await it.page.getByRole("status").filter({ hasText: "Under way: claimed" }).waitFor();
  });

  test("playing goes on step by step in the recording's time, and stops at the end", async () => {
    const it = await open(replay.pageUrl);
    await it.scrubTo(staged.failure - 100);
    await it.named("speed").selectOption("0.5");
    await it.named("play").click();
    await it.named("pause").waitFor();
    const under = await it.step();
    expect(under).toBeLessThan(staged.failure);
    await it.named("play").waitFor();
    expect(await it.step()).toBeGreaterThan(staged.failure);
  });

  test("the page is of use before the layout engine arrives, and draws the chart when it has", async () => {
    const it = await open(replay.pageUrl);
    let arrive = (): void => undefined;
    const arrival = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    await it.page.route("**/elk-worker.min.js", async (route) => {
      await arrival;
      await route.continue();
    });
    const asked = it.page.waitForRequest("**/elk-worker.min.js");
    await it.tab("chart").click();
    await it.page.locator("main.chart").waitFor();
    await asked;
    for (const view of ["overview", "log", "sequence"] as const) await it.show(view);
    await it.page.locator(".message .label").first().waitFor();
    await it.tab("chart").click();
    expect(await it.page.locator(".drawing svg .state").count()).toBe(0);
    arrive();
    await it.page.locator(".drawing svg .state").first().waitFor();
  });

  test("a chart is moved, sized, fitted, searched, collapsed, and saved as SVG and PNG", async () => {
    const it = await open(replay.pageUrl);
    await it.show("chart");
    const transform = () => it.page.locator(".moved").getAttribute("transform");
    const fitted = await transform();
    await it.named("larger").click();
    expect(await transform()).not.toBe(fitted);
    await it.page.locator(".drawing").hover();
    await it.page.mouse.down();
    await it.page.mouse.move(500, 500);
    await it.page.mouse.up();
    await it.page.mouse.wheel(0, -200);
    await it.page.getByRole("button", { name: "Fit" }).click();
    expect(await transform()).toBe(fitted);
    await it.named("find in the chart").fill("electing");
    await it.named("find in the chart").press("Enter");
    await it.page.locator(".state.found .name", { hasText: "electing" }).waitFor();
    expect(await transform()).not.toBe(fitted);
    const states = await it.page.locator(".state").count();
    await it.named("collapse leading").focus();
    await it.page.keyboard.press("Enter");
    await it.named("open leading").waitFor();
    await expect.poll(() => it.page.locator(".state").count()).toBeLessThan(states);

    const [svg] = await Promise.all([
      it.page.waitForEvent("download"),
      it.page.getByRole("button", { name: "SVG" }).click(),
    ]);
    const text = await readFile(await svg.path(), "utf8");
    expect(text).toMatch(/^<svg[^>]+xmlns="http:\/\/www.w3.org\/2000\/svg"/);
    expect(text).toContain("electing");
    expect(text).not.toContain("var(");
    const [png] = await Promise.all([
      it.page.waitForEvent("download"),
      it.page.getByRole("button", { name: "PNG" }).click(),
    ]);
    const bytes = await readFile(await png.path());
    expect(bytes.subarray(1, 4).toString()).toBe("PNG");
    expect(bytes.length).toBeGreaterThan(20_000);
  });

  test("the keyboard alone reaches every view, a step, a filter and the drawing, and shows where it is", async () => {
    const it = await open(replay.pageUrl);
    const { keyboard } = it.page;
    const ring = async (): Promise<void> => expect(await it.page.evaluate(hasFocusRing)).toBe(true);
    await it.tabTo(it.tab("overview"));
    await ring();
    for (const view of viewNames.slice(1)) {
      await keyboard.press("ArrowRight");
      await it.page.locator(`main.${view}`).waitFor();
      await ring();
    }
    await keyboard.press("ArrowLeft");
    await it.tabTo(it.named("filter"));
    await ring();
    await keyboard.type("lease");
    await it.tabTo(it.named("steps"));
    await ring();
    await keyboard.press("ArrowUp");
    await it.page.locator(".row.here", { hasText: "lease" }).waitFor();
    const at = await it.step();
    await keyboard.press(",");
    expect(await it.step()).toBe(at - 1);
    await it.tabTo(it.named("timeline"));
    await ring();
    await keyboard.press("ArrowLeft");
    expect(await it.step()).toBe(at - 2);
    await it.tabTo(it.tab("log"), "Shift+Tab");
    for (let presses = 0; presses < 3; presses += 1) await keyboard.press("ArrowLeft");
    await it.page.locator(".drawing svg .state").first().waitFor();
    await it.tabTo(it.page.locator(".drawing"));
    await ring();
    const before = await it.page.locator(".moved").getAttribute("transform");
    await keyboard.press("ArrowDown");
    expect(await it.page.locator(".moved").getAttribute("transform")).not.toBe(before);
  });

  test("a page of another origin gets no token and no data", async () => {
    const hostile = http.createServer((_request, response) => {
      response.writeHead(200, { "Content-Type": "text/html" }).end("<title>hostile</title>");
    });
    await new Promise<void>((resolve) => hostile.listen(0, "127.0.0.1", resolve));
    const { port } = hostile.address() as { port: number };
    const page = await browser().newPage();
    try {
      await page.goto(`http://127.0.0.1:${port}/`);
      const got = await page.evaluate(
        async ({ url, token }) => {
          const texts: string[] = [];
          const read = async (path: string): Promise<void> => {
            await fetch(`${url}${path}`).then(
              async (answer) => texts.push(await answer.text()),
              () => texts.push("refused"),
            );
          };
          await read("");
          await read("main.js");
          // Even whoever had the key would get nothing from here.
          for (const path of ["live", `live?token=${token}`, `stately?token=${token}`, `v4?token=${token}`])
            await new Promise<void>((resolve) => {
              // The browser's, not this file's.
              const socket = new globalThis.WebSocket(`${url.replace("http", "ws")}${path}`);
              socket.onopen = () => socket.send(JSON.stringify({ type: "hello", token }));
              socket.onmessage = ({ data }) => texts.push(String(data));
              socket.onclose = () => {
                texts.push("closed");
                resolve();
              };
            });
          return texts;
        },
        { url: replay.url, token: replay.token },
      );
      expect(got).toEqual(["refused", "refused", "closed", "closed", "closed", "closed"]);
    } finally {
      await page.close();
      hostile.close();
    }
  });

  test("a name rebound to loopback gets no token and no data", async () => {
    const { port } = new URL(replay.url);
    const rebound = { Host: `rebound.example:${port}` };
    const answer = await new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      http
        .get(replay.url, { headers: rebound }, (response) => {
          let body = "";
          response.on("data", (chunk: Buffer) => (body += chunk.toString()));
          response.on("end", () => resolve({ status: response.statusCode, body }));
        })
        .once("error", reject);
    });
    expect(answer).toEqual({ status: 403, body: "" });
    const address = `${replay.url.replace("http", "ws")}live?token=${replay.token}`;
    const refused = await new Promise<string>((resolve) => {
      const socket = new WebSocket(address, { headers: rebound });
      socket.once("message", () => resolve("data"));
      socket.once("error", (error) => resolve(error.message));
    });
    expect(refused).toContain("403");
  });

  test("in a browser whose resolver was made to call another name loopback, that name gets no page", async () => {
    const { port } = new URL(replay.url);
    const rebound = await chromium.launch({
      executablePath: chromiumPath()!,
      args: ["--host-resolver-rules=MAP rebound.example 127.0.0.1"],
      chromiumSandbox: false,
    });
    try {
      const page = await rebound.newPage();
      const answered = page.waitForEvent("response");
      // An answer of no bytes is no page to Chromium: it says so, once it has got it.
      await expect(page.goto(`http://rebound.example:${port}/#token=${replay.token}`)).rejects.toThrow(
        /ERR_HTTP_RESPONSE_CODE_FAILURE/,
      );
      expect((await answered).status()).toBe(403);
      // The name is what is refused: by its own the same browser gets in.
      const own = await rebound.newPage();
      expect((await own.goto(replay.pageUrl))?.status()).toBe(200);
    } finally {
      await rebound.close();
    }
  });

  test("since when the leader leads is read from the line, also of one that led before anybody looked", async () => {
    const it = await open(replay.pageUrl);
    await it.scrubTo(staged.takeover + 1);
    await it
      .card("Birch")
      .locator("dd", { hasText: /^for .+, since 00:00:00\.850$/ })
      .waitFor();
    expect(await it.card("Cedar").getByText(", since").count()).toBe(0);
  });
});
