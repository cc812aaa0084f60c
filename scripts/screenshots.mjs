/**
 * Takes the pictures of the docs: `npm run screenshots`, or `-- --only demo` or `-- --only counterexample`. Needs dist/ and a
 * Chromium (at /usr/bin/chromium, or at $PARTYLINE_CHROMIUM).
 *
 * Those of docs/inspector.md are of a demo that runs; its leader is killed on the way, so that they show a line that has been
 * through something. That of docs/checking.md is of the broken chart in examples/check-host.mjs, replayed.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import { projectRoot } from "./lib/project.mjs";

const target = path.join(projectRoot, "docs/images");
const limitMs = 120_000;
await mkdir(target, { recursive: true });

const { values } = parseArgs({ options: { only: { type: "string" } } });
const { TELEGRAM_BOT_TOKEN: _token, ...env } = process.env;
let output = "";
const browser = await chromium.launch({
  executablePath: process.env["PARTYLINE_CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--disable-gpu"],
  chromiumSandbox: false,
});

try {
  if (values.only !== "counterexample") await shootDemo();
  if (values.only !== "demo") await shootCounterexample();
} finally {
  await browser.close();
}

/** The command line program with these arguments; what it prints goes to `output`. */
function program(/** @type {string[]} */ ...args) {
  output = "";
  const child = spawn(process.execPath, [path.join(projectRoot, "dist/cli.js"), ...args], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  createInterface({ input: child.stdout }).on("line", (line) => (output += `${line}\n`));
  return child;
}

async function shootDemo() {
  const demo = program("demo", "--port", "0");
  try {
    await until(() => (output.match(/thread \d/g) ?? []).length >= 3);
    const chat = found(/Chat page\s+(\S+)/);
    const page = await open(found(/Inspector\s+(\S+)/), "light");
    await say(chat, "hello");
    await page.locator(".instance.lead").waitFor();
    process.kill(Number(found(/pid (\d+)\s+leader/)), "SIGKILL");
    await say(chat, "still there?");
    await page.locator(".instance", { hasText: "gone" }).waitFor();
    await page.locator('.instance:not(.bad) .pill:text-is("follower")').nth(1).waitFor();
    await say(chat, "good");
    await show(page, "update");
    await page.locator(".stages .end").waitFor();
    await shoot(page, "updates");
    await show(page, "sequence");
    await shoot(page, "messages");
    await show(page, "chart");
    await page.locator(".drawing svg .state").first().waitFor();
    await shoot(page, "charts");
    await show(page, "log");
    await page.getByLabel("filter", { exact: true }).fill("lease");
    await page.getByLabel("kind", { exact: true }).selectOption("transition");
    await page.locator(".row").nth(4).click();
    await shoot(page, "log");
    await show(page, "invariants");
    await shoot(page, "invariants");
    await page.getByRole("button", { name: "To live" }).click();
    await show(page, "overview");
    await shoot(page, "overview");
    const dark = await open(page.url(), "dark", { width: 390, height: 844 });
    await show(dark, "sequence");
    await shoot(dark, "messages-narrow-dark");
  } finally {
    demo.kill("SIGTERM");
  }
}

/** The step in which a property broke, on the chart that broke it. */
async function shootCounterexample() {
  const folder = await mkdtemp(path.join(os.tmpdir(), "partyline-pictures-"));
  const recording = path.join(folder, "job.ndjson");
  const example = [path.join(projectRoot, "examples/check-host.mjs"), recording];
  if (spawnSync(process.execPath, example).status !== 0) throw new Error("examples/check-host.mjs failed");
  const replay = program("replay", recording);
  try {
    await until(() => /Inspector\s+\S+/.test(output));
    const page = await open(found(/Inspector\s+(\S+)/), "light");
    await show(page, "chart");
    await page.locator(".drawing svg .state").first().waitFor();
    await shoot(page, "counterexample");
  } finally {
    replay.kill("SIGTERM");
    await rm(folder, { recursive: true, force: true });
  }
}

async function open(
  /** @type {string} */ url,
  /** @type {"light" | "dark"} */ colorScheme,
  viewport = { width: 1280, height: 800 },
) {
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce", locale: "en-GB" });
  context.setDefaultTimeout(limitMs);
  const page = await context.newPage();
  await page.goto(url);
  await page.locator(".link.connected").waitFor();
  return page;
}

async function show(/** @type {import("playwright-core").Page} */ page, /** @type {string} */ view) {
  await page.locator(`[role=tab][data-view="${view}"]`).click();
  await page.locator(`main.${view}`).waitFor();
}

async function shoot(/** @type {import("playwright-core").Page} */ page, /** @type {string} */ name) {
  // Two drawings of the page lie between: lists have found their place.
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  await page.screenshot({ path: path.join(target, `inspector-${name}.png`) });
  console.log(`docs/images/inspector-${name}.png`);
}

async function say(/** @type {string} */ chat, /** @type {string} */ text) {
  for (const threadId of [1, 2, 3])
    await fetch(`${chat}control/user-text`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: chat.slice(0, -1) },
      body: JSON.stringify({ threadId, text }),
    });
}

function found(/** @type {RegExp} */ form) {
  const text = form.exec(output)?.[1];
  if (text === undefined) throw new Error(`the demo did not print ${form}:\n${output}`);
  return text;
}

async function until(/** @type {() => boolean} */ holds) {
  const startedAt = performance.now();
  while (!holds()) {
    if (performance.now() - startedAt > limitMs) throw new Error(`the demo is not ready:\n${output}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
