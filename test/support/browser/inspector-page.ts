/**
 * The inspector's page, as a person uses it.
 *
 * Owns: the browser context, and the list of troubles the page made. Does not own: the inspector behind it.
 */
import { mkdirSync } from "node:fs";
import path from "node:path";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { afterEach, expect } from "vitest";
import { ceilingMs } from "../line/waiting.ts";
import { shotsFolder, wide } from "./chat.ts";
import type { ChatLook } from "./chat.ts";

export const viewNames = ["overview", "chart", "sequence", "update", "log", "invariants"] as const;
export type ViewName = (typeof viewNames)[number];

export class InspectorPage {
  readonly page: Page;
  readonly troubles: string[] = [];
  private readonly context: BrowserContext;

  private constructor(context: BrowserContext, page: Page) {
    this.context = context;
    this.page = page;
  }

  /** Opens the page and waits until it has what is kept. */
  static async open(browser: Browser, url: string, look: ChatLook = wide): Promise<InspectorPage> {
    const { width, height, scheme } = look;
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: scheme,
      reducedMotion: "reduce",
      locale: "en-GB",
    });
    context.setDefaultTimeout(ceilingMs);
    const opened = new InspectorPage(context, await context.newPage());
    opened.watch(new URL(url).host);
    await opened.page.goto(url);
    await opened.page.locator(".link.connected").waitFor();
    await opened.page.locator(".cards .card").first().waitFor();
    return opened;
  }

  async close(): Promise<void> {
    await this.context.close();
  }

  tab(view: ViewName): Locator {
    return this.page.locator(`[role=tab][data-view="${view}"]`);
  }

  async show(view: ViewName): Promise<void> {
    await this.tab(view).click();
    await this.page.locator(`main.${view}`).waitFor();
    if (view === "chart") await this.page.locator(".drawing svg .state").first().waitFor();
  }

  named(name: string): Locator {
    return this.page.getByLabel(name, { exact: true });
  }

  /** Goes to the step by the timeline. */
  async scrubTo(step: number): Promise<void> {
    await this.named("timeline").fill(String(step));
  }

  async step(): Promise<number> {
    return Number(await this.named("timeline").inputValue());
  }

  /** An instance's card, while it is not gone. */
  card(instance: string): Locator {
    return this.page.locator(`.instance[data-instance="${instance}"]:not(:has(.pill:text-is("gone")))`);
  }

  invariant(name: string): Locator {
    return this.page.locator(`[data-invariant="${name}"]`);
  }

  /** Presses Tab until the element has the focus. */
  async tabTo(target: Locator, key = "Tab"): Promise<void> {
    const focused = target.and(this.page.locator(":focus"));
    for (let presses = 0; presses < 60; presses += 1) {
      if ((await focused.count()) > 0) return;
      await this.page.keyboard.press(key);
    }
    throw new Error(`60 times ${key} do not reach ${target.toString()}`);
  }

  async shoot(name: string): Promise<void> {
    mkdirSync(shotsFolder, { recursive: true });
    await this.page.screenshot({ path: path.join(shotsFolder, `inspector-${name}.png`) });
  }

  private watch(host: string): void {
    this.context.on("request", (request) => {
      const url = new URL(request.url());
      if (!["data:", "blob:"].includes(url.protocol) && url.host !== host) this.troubles.push(`request to ${url.href}`);
    });
    this.context.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.troubles.push(`${message.type()}: ${message.text()}`);
    });
    this.page.on("pageerror", (error) => this.troubles.push(error.message));
  }
}

/** Pages opened in a test, closed after it; one that made trouble fails its test. */
export function useInspectorPages(browser: () => Browser): (url: string, look?: ChatLook) => Promise<InspectorPage> {
  const open: InspectorPage[] = [];
  afterEach(async () => {
    const pages = open.splice(0);
    const troubles = pages.flatMap((page) => page.troubles);
    await Promise.all(pages.map((page) => page.close()));
    expect(troubles, "what the page had trouble with").toEqual([]);
  });
  return async (url, look) => {
    const page = await InspectorPage.open(browser(), url, look);
    open.push(page);
    return page;
  };
}
