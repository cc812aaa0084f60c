/** `partyline demo` and its chat page, with real processes and a real browser. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Chat } from "../support/browser/chat.ts";
import { narrow } from "../support/browser/chat.ts";
import { describeInBrowser } from "../support/browser/chromium.ts";
import { Demo } from "../support/browser/demo.ts";
import { useChats } from "../support/browser/use-chats.ts";
import { inMs, report, until } from "../support/line/waiting.ts";

/** Writes into every thread, one after the other, without waiting for answers. */
async function writeToAll(chat: Chat, names: readonly string[], text: string): Promise<void> {
  for (const name of names) {
    await chat.select(name);
    await chat.write(`${text}, ${name}`);
  }
}

/** Waits until every thread shows its agent's answer. */
async function whenAllAnswered(chat: Chat, names: readonly string[], text: string): Promise<void> {
  for (const name of names) {
    await chat.select(name);
    await chat.whenShown("theirs", `${name}: ${text}, ${name}`);
  }
}

/** What the agents answered to `text`, by thread. */
async function answers(chat: Chat, names: readonly string[], text: string): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const name of names) {
    await chat.select(name);
    found[name] = (await chat.texts("theirs")).filter((each) => each.includes(text));
  }
  return found;
}

const oneEach = (names: readonly string[], text: string): Record<string, string[]> =>
  Object.fromEntries(names.map((name) => [name, [`${name}: ${text}, ${name}`]]));

describeInBrowser("the demo", (browser) => {
  const open = useChats(browser);
  let demo: Demo;
  beforeAll(async () => {
    demo = await Demo.start();
  });
  afterAll(async () => {
    await demo.stop();
  });

  test("three threads are listed, and what is written into each is answered there, once", async () => {
    const chat = await open(demo.pageUrl);
    expect(await chat.whenThreads("Amber", "Birch", "Cedar")).toEqual(demo.names);
    await writeToAll(chat, demo.names, "hello");
    await whenAllAnswered(chat, demo.names, "hello");
    // Nothing overtakes within a thread: once the second message is answered, no further answer to the first can come.
    await writeToAll(chat, demo.names, "and again");
    await whenAllAnswered(chat, demo.names, "and again");
    expect(await answers(chat, demo.names, "hello")).toEqual(oneEach(demo.names, "hello"));
    expect(await answers(chat, demo.names, "and again")).toEqual(oneEach(demo.names, "and again"));
  });

  test("kill -9 of the leader while the page is open: every thread is still answered, exactly once", async () => {
    const chat = await open(demo.pageUrl);
    const { names } = demo;
    await chat.whenThreads(...names);
    const killed = demo.leader;
    process.kill(killed.pid, "SIGKILL");
    const startedAt = performance.now();
    await writeToAll(chat, names, "still there");
    await whenAllAnswered(
      chat,
      names.filter((name) => name !== killed.name),
      "still there",
    );
    report(`the others answer on the page ${inMs(performance.now() - startedAt)} after the leader's kill -9`);
    await whenAllAnswered(chat, names, "still there");
    report(`the killed agent answers on the page ${inMs(performance.now() - startedAt)} after its kill -9`);

    expect(demo.gone.get(killed.pid)).toBe("SIGKILL");
    await demo.whenReady();
    expect(demo.names).toEqual(names);
    expect(demo.agents.get(killed.name)?.pid).not.toBe(killed.pid);
    expect(demo.agents.get(killed.name)?.threadId).toBe(killed.threadId);
    await writeToAll(chat, names, "all here");
    await whenAllAnswered(chat, names, "all here");
    expect(await answers(chat, names, "still there")).toEqual(oneEach(names, "still there"));
    expect(await chat.threadNames()).toEqual(names);
  });

  test("the keyboard alone reaches the composer, sends, and switches threads", async () => {
    const chat = await open(demo.pageUrl);
    const { keyboard } = chat.page;
    await chat.whenThreads(...demo.names);
    await chat.tabTo(chat.thread("Birch"));
    await keyboard.press("Enter");
    await chat.whenSelected("Birch");
    await chat.tabTo(chat.composer);
    await keyboard.type("by keyboard");
    await keyboard.press("Shift+Enter");
    await keyboard.type("in two lines");
    await keyboard.press("Enter");
    await chat.whenShown("mine", "by keyboard\nin two lines");
    await chat.whenShown("theirs", "Birch: by keyboard\nin two lines");
    expect(await chat.composer.inputValue()).toBe("");
    expect(await chat.isFocused("#text")).toBe(true);

    await chat.tabTo(chat.thread("Cedar"), "Shift+Tab");
    await keyboard.press("Enter");
    await chat.whenSelected("Cedar");
    await chat.tabTo(chat.composer);
    await keyboard.type("over to you");
    await keyboard.press("Enter");
    await chat.whenShown("theirs", "Cedar: over to you");
  });

  test("what an agent sends back is text, never markup", async () => {
    const chat = await open(demo.pageUrl);
    const markup = `<img src=x onerror="alert(1)"><script>alert(2)</script>&amp; <b>bold</b>`;
    await chat.select("Amber");
    await chat.write(markup);
    await chat.whenShown("mine", markup);
    await chat.whenShown("theirs", `Amber: ${markup}`);
    await chat
      .thread("Amber")
      .locator(".thread-last", { hasText: `Amber: ${markup}` })
      .waitFor();
    await chat.page.locator("#calls-toggle").click();
    await chat.page.locator(".call-list pre", { hasText: "onerror" }).first().waitFor({ state: "attached" });
    expect(await chat.page.locator("img, b, body script").count()).toBe(0);
  });

  test("a thread created on the page is listed, selected and takes messages", async () => {
    const chat = await open(demo.pageUrl);
    await chat.page.locator("#new-thread").click();
    await chat.page.locator("#new-thread-name").fill("Notes");
    await chat.page.locator("#new-thread-form [type=submit]").click();
    await chat.whenSelected("Notes");
    await chat.whenFocused("#text");
    await chat.write("for nobody in particular");
    await chat.whenShown("mine", "for nobody in particular");
    expect(await chat.threadNames()).toEqual([...demo.names, "Notes"]);
    await chat.select("Cedar");
    await chat.write("and you?");
    await chat.whenShown("theirs", "Cedar: and you?");
  });

  // The last one: it ends the demo.
  test("when the demo ends, the page says so, and what is written stays in the field; no process is left", async () => {
    const chats = [await open(demo.pageUrl), await open(demo.pageUrl, narrow)];
    for (const chat of chats) await chat.select("Amber");
    expect(demo.livingPids.length).toBe(3);
    expect(await demo.stop()).toBe(0);
    await until("no agent runs any more", () => demo.livingPids.length === 0);
    for (const chat of chats) {
      await chat.whenLink("offline");
      await chat.write("is anybody there?");
      await chat.toast.filter({ hasText: "The emulator cannot be reached" }).waitFor();
      expect(await chat.composer.inputValue()).toBe("is anybody there?");
      expect(await chat.count("mine", "is anybody there?")).toBe(0);
      chat.forgiveBeingCutOff();
    }
  });
});
