/**
 * The emulator's chat page, as a person uses it.
 *
 * Owns: the browser context, and the list of troubles the page made: errors on its console, refused requests, requests to
 * another host. Does not own: the emulator behind it.
 */
import { mkdirSync } from "node:fs";
import path from "node:path";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { eventually } from "./eventually.ts";
import { ceilingMs } from "../line/waiting.ts";

/** Where screenshots go; ignored by git, written over by the next run. */
export const shotsFolder = path.join(process.cwd(), "node_modules/.cache/partyline/shots");

export interface ChatLook {
  readonly width: number;
  readonly height: number;
  readonly scheme: "light" | "dark";
}

export const wide: ChatLook = { width: 1280, height: 800, scheme: "light" };
export const narrow: ChatLook = { width: 390, height: 844, scheme: "light" };

const exactly = (text: string): RegExp => new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}$`);

export class Chat {
  readonly page: Page;
  readonly troubles: string[] = [];
  private readonly context: BrowserContext;

  private constructor(context: BrowserContext, page: Page) {
    this.context = context;
    this.page = page;
  }

  /** Opens the page and waits until it is online, unless `prepare` has to come before that. */
  static async open(
    browser: Browser,
    url: string,
    look: ChatLook = wide,
    prepare?: (page: Page) => Promise<void>,
  ): Promise<Chat> {
    const { width, height, scheme } = look;
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: scheme,
      reducedMotion: "reduce",
      locale: "en-GB",
    });
    context.setDefaultTimeout(ceilingMs);
    const chat = new Chat(context, await context.newPage());
    chat.watch(new URL(url).host);
    await prepare?.(chat.page);
    await chat.page.goto(url);
    await chat.whenLink("online");
    return chat;
  }

  get composer(): Locator {
    return this.page.locator("#text");
  }
  get toast(): Locator {
    return this.page.locator("#toast.shown");
  }

  async close(): Promise<void> {
    await this.context.close();
  }

  whenLink(state: "online" | "offline"): Promise<void> {
    return this.page.locator(`.link[data-state="${state}"]:visible`).waitFor();
  }

  thread(name: string): Locator {
    return this.page.locator("#threads .thread", {
      has: this.page.locator(".thread-name", { hasText: exactly(name) }),
    });
  }

  /** Names of the threads, without the main chat. */
  async threadNames(): Promise<string[]> {
    const names = await this.page.locator("#threads .thread-name").allTextContents();
    return names.filter((name) => name !== "Main chat").sort();
  }

  whenThreads(...names: readonly string[]): Promise<string[]> {
    const wanted = [...names].sort().join();
    return eventually(
      `the threads ${wanted} are listed`,
      () => this.threadNames(),
      (seen) => seen.join() === wanted,
    );
  }

  async select(name: string): Promise<void> {
    const back = this.page.locator("#back");
    if (await back.isVisible()) await back.click();
    await this.thread(name).click();
    await this.whenSelected(name);
  }

  async whenSelected(name: string): Promise<void> {
    await this.page.locator("#thread-name:visible", { hasText: exactly(name) }).waitFor();
  }

  /** Into the selected thread, with the keyboard's Enter. */
  async write(text: string): Promise<void> {
    await this.composer.fill(text);
    await this.composer.press("Enter");
  }

  /** Texts of the selected thread. */
  texts(whose: "mine" | "theirs"): Promise<string[]> {
    return this.page.locator(`#messages .${whose} .text`).allTextContents();
  }

  /** How many messages of the selected thread read so. */
  async count(whose: "mine" | "theirs", text: string): Promise<number> {
    return (await this.texts(whose)).filter((each) => each === text).length;
  }

  whenShown(whose: "mine" | "theirs", text: string): Promise<string[]> {
    return eventually(
      `“${text}” is shown`,
      () => this.texts(whose),
      (texts) => texts.includes(text),
    );
  }

  /** Takes out what Chromium itself writes on the console when it cannot connect. */
  forgiveBeingCutOff(): void {
    const rest = this.troubles.filter((each) => !each.startsWith("error: Failed to load resource: net::ERR_"));
    this.troubles.splice(0, Infinity, ...rest);
  }

  isFocused(selector: string): Promise<boolean> {
    return this.page.locator(`${selector}:focus`).isVisible();
  }

  async whenFocused(selector: string): Promise<void> {
    await this.page.locator(`${selector}:focus`).waitFor();
  }

  /** Presses Tab (or another key) until the element has the focus. */
  async tabTo(target: Locator, key = "Tab"): Promise<void> {
    const focused = target.and(this.page.locator(":focus"));
    for (let presses = 0; presses < 40; presses += 1) {
      await this.page.keyboard.press(key);
      if ((await focused.count()) > 0) return;
    }
    throw new Error(`40 times ${key} do not reach ${target.toString()}`);
  }

  async shoot(name: string): Promise<void> {
    mkdirSync(shotsFolder, { recursive: true });
    await this.page.screenshot({ path: path.join(shotsFolder, `${name}.png`) });
  }

  private watch(host: string): void {
    this.context.on("request", (request) => {
      const url = new URL(request.url());
      if (url.protocol !== "data:" && url.host !== host) this.troubles.push(`request to ${url.href}`);
    });
    this.context.on("response", (response) => {
      if (response.status() >= 400) this.troubles.push(`${response.status()} for ${response.url()}`);
    });
    this.context.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.troubles.push(`${message.type()}: ${message.text()}`);
    });
    this.page.on("pageerror", (error) => this.troubles.push(error.message));
    this.page.on("dialog", (dialog) => {
      this.troubles.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
  }
}
