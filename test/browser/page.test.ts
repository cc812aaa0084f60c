/** The emulator's chat page on an emulator in this process: what the demo's agents do not do. */
import { afterEach, expect, test } from "vitest";
import type { Emulator } from "../../adapters/telegram/emulator/index.ts";
import { narrow, wide } from "../support/browser/chat.ts";
import { describeInBrowser } from "../support/browser/chromium.ts";
import { eventually } from "../support/browser/eventually.ts";
import { botCalls, startBare, startStaged, startWithGroup } from "../support/browser/staged.ts";
import { useChats } from "../support/browser/use-chats.ts";
import { group } from "../support/line/fixtures.ts";
import { hasFocusRing } from "./in-page.ts";

declare global {
  interface Window {
    eventsSeen: number;
  }
}

const emulators: Emulator[] = [];
async function kept(starting: Promise<Emulator>): Promise<Emulator> {
  const emulator = await starting;
  emulators.push(emulator);
  return emulator;
}
afterEach(async () => {
  await Promise.all(emulators.splice(0).map((emulator) => emulator.close()));
});

describeInBrowser("the chat page", (browser) => {
  const open = useChats(browser);

  test("a pressed button reaches the bot, whose answer and edit are shown; one with an address cannot be pressed", async () => {
    const emulator = await kept(startStaged());
    const chat = await open(emulator.pageUrl);
    await chat.select("Builder");
    expect(await chat.page.locator(".key", { hasText: "Open the log" }).isDisabled()).toBe(true);
    await chat.page.locator(".key", { hasText: "Deploy" }).click();
    const isCallback = (update: unknown): boolean => JSON.stringify(update).includes("callback_query");
    const updates = await eventually(
      "the bot is told of the button",
      async () => (await botCalls(emulator, "getUpdates", { offset: -1 })) as readonly unknown[],
      (found) => found.some(isCallback),
    );
    const pressed = updates.find(isCallback) as {
      callback_query: { id: string; data: string; message: { message_id: number; chat: { id: number } } };
    };
    expect(pressed.callback_query.data).toBe("deploy");
    const { id, message } = pressed.callback_query;
    await botCalls(emulator, "answerCallbackQuery", { callback_query_id: id, text: "On its way" });
    await chat.toast.filter({ hasText: "On its way" }).waitFor();
    await botCalls(emulator, "editMessageText", {
      chat_id: message.chat.id,
      message_id: message.message_id,
      text: "Deployed.",
    });
    await chat.whenShown("theirs", "Deployed.");
    await chat.page.locator(".key").first().waitFor({ state: "detached" });
  });

  test("a click that is under way when the thread gets a message still chooses the thread", async () => {
    const emulator = await kept(startBare());
    emulator.control.userCreatesThread({ name: "Builder" });
    const { threadId } = emulator.control.userCreatesThread({ name: "Writer" });
    const chat = await open(emulator.pageUrl);
    await chat.select("Builder");
    const link = chat.thread("Writer");
    await link.hover();
    await chat.page.mouse.down();
    emulator.control.userSends({ threadId, text: "look here" });
    await link.filter({ hasText: "look here" }).waitFor();
    await chat.page.mouse.up();
    await chat.whenSelected("Writer");
  });

  test("what happens while the page reads the state is not lost", async () => {
    const emulator = await kept(startBare());
    const { threadId } = emulator.control.userCreatesThread({ name: "Builder" });
    const url = `${emulator.pageUrl}#/${emulator.control.state().owner.id}/${threadId}`;
    let isFirst = true;
    const chat = await open(url, wide, async (page) => {
      await page.addInitScript(() => {
        window.eventsSeen = 0;
        window.EventSource = class extends EventSource {
          constructor(address: string | URL) {
            super(address);
            this.addEventListener("message", () => (window.eventsSeen += 1));
          }
        };
      });
      // The messages are read before the new one, and come to the page after the event that tells of it.
      await page.route("**/control/messages", async (route) => {
        const response = await route.fetch();
        if (isFirst) {
          isFirst = false;
          emulator.control.userSends({ threadId, text: "just in between" });
          const seen = (): Promise<number> => page.evaluate(() => window.eventsSeen);
          await eventually("the page has the event", seen, (count) => count > 0);
        }
        await route.fulfill({ response });
      });
    });
    await chat.whenShown("mine", "just in between");
    expect(await chat.count("mine", "just in between")).toBe(1);
  });

  test.each([wide, narrow])(
    "at $width px a page that was cut off says so, returns, and has what it missed",
    async (look) => {
      const emulator = await kept(startStaged());
      const chat = await open(emulator.pageUrl, look);
      await chat.select("Builder");
      emulator.control.refuseConnections({ ms: 1_000 });
      await chat.whenLink("offline");
      const { threadId } = emulator.control.state().threads.find(({ name }) => name === "Builder")!;
      emulator.control.userSends({ threadId, text: "written meanwhile" });
      await chat.whenShown("mine", "written meanwhile");
      await chat.page.locator('.link[data-state="offline"]:visible').waitFor({ state: "hidden" });
      expect(await chat.page.locator("#link").textContent()).toBe("Online");
      chat.forgiveBeingCutOff();
    },
  );

  test("on a phone, what comes while the list is shown counts as unread, also in the thread that was shown last", async () => {
    const emulator = await kept(startStaged());
    const chat = await open(emulator.pageUrl, narrow);
    await chat.select("Builder");
    const { threadId, chatId } = emulator.control.state().threads.find(({ name }) => name === "Builder")!;
    const say = (text: string) =>
      botCalls(emulator, "sendMessage", { chat_id: chatId, message_thread_id: threadId, text });
    const badge = chat.thread("Builder").locator(".badge");
    await say("while you look");
    await chat.whenShown("theirs", "while you look");
    await chat.page.locator("#back").click();
    await chat.thread("Builder").waitFor();
    expect(await badge.count()).toBe(0);
    await say("while you are away");
    await badge.filter({ hasText: "1" }).waitFor();
    await chat.select("Builder");
    await chat.page.locator("#back").click();
    await badge.waitFor({ state: "detached" });
  });

  test("a thread is closed, reopened and deleted on the page; deleting is asked for first", async () => {
    const emulator = await kept(startWithGroup());
    const chat = await open(emulator.pageUrl);
    await chat.select("Old answers");
    expect(await chat.composer.isDisabled()).toBe(true);
    expect(await chat.page.locator(".send").isDisabled()).toBe(true);
    await chat.page.locator("#close-thread", { hasText: "Reopen" }).click();
    await chat.page.locator("#close-thread", { hasText: "Close" }).waitFor();
    await chat.write("one more thing");
    await chat.whenShown("mine", "one more thing");
    await chat.page.locator("#close-thread").click();
    await chat.page.locator("#text:disabled").waitFor();

    await chat.select("Open questions");
    const isThere = (): boolean =>
      emulator.control.state().threads.some(({ name, status }) => name === "Open questions" && status === "open");
    await chat.page.locator("#delete-thread").click();
    await chat.page.keyboard.press("Escape");
    await chat.page.locator("dialog").waitFor({ state: "hidden" });
    expect(isThere()).toBe(true);
    await chat.page.locator("#delete-thread").click();
    await chat.page.locator("dialog .danger").click();
    await chat.thread("Open questions").waitFor({ state: "detached" });
    expect(isThere()).toBe(false);
    expect(await chat.page.locator("#thread-name").textContent()).not.toBe("Open questions");
    expect(emulator.control.messages({ chatId: group }).some(({ text }) => text === "Is anybody here?")).toBe(false);
  });

  test("what the emulator refuses is said in its words, and the text comes back", async () => {
    const emulator = await kept(startStaged());
    const chat = await open(emulator.pageUrl);
    await chat.select("Builder");
    const refusal = { ok: false, error: "this thread is closed" };
    await chat.page.route("**/control/user-text", (route) => route.fulfill({ json: refusal }));
    await chat.write("too late?");
    await chat.toast.filter({ hasText: "this thread is closed" }).waitFor();
    expect(await chat.composer.inputValue()).toBe("too late?");
  });

  test.each([wide, narrow])("at $width px the keyboard alone does everything, and shows where it is", async (look) => {
    const emulator = await kept(startStaged());
    const chat = await open(emulator.pageUrl, look);
    const { keyboard } = chat.page;
    const at = (selector: string) => chat.page.locator(selector);
    const expectRing = async (): Promise<void> => expect(await chat.page.evaluate(hasFocusRing)).toBe(true);
    await chat.tabTo(at("#new-thread"));
    await expectRing();
    await keyboard.press("Enter");
    await chat.whenFocused("#new-thread-name");
    await keyboard.press("Escape");
    await chat.whenFocused("#new-thread");
    await keyboard.press("Enter");
    await keyboard.type("Made by hand");
    await expectRing();
    await keyboard.press("Enter");
    await chat.whenSelected("Made by hand");
    await chat.whenFocused("#text");
    await keyboard.type("hello");
    await expectRing();
    await keyboard.press("Enter");
    await chat.whenShown("mine", "hello");

    await chat.tabTo(at("#calls-toggle"), "Shift+Tab");
    await expectRing();
    await keyboard.press("Enter");
    await chat.whenFocused("#calls-close");
    await chat.tabTo(at(".call-list summary").first());
    await expectRing();
    await keyboard.press("Enter");
    await at(".call-list pre:visible").first().waitFor();
    await keyboard.press("Escape");
    await chat.whenFocused("#calls-toggle");

    if (look === narrow) {
      await chat.tabTo(at("#back"), "Shift+Tab");
      await keyboard.press("Enter");
    }
    await chat.tabTo(chat.thread("Builder"), look === narrow ? "Tab" : "Shift+Tab");
    await expectRing();
    await keyboard.press("Enter");
    await chat.whenSelected("Builder");
    await chat.tabTo(at(".key").first());
    await expectRing();
    await keyboard.press("Enter");
    await eventually(
      "the button is pressed",
      async () => JSON.stringify(await botCalls(emulator, "getUpdates", { offset: -1 })),
      (updates) => updates.includes("callback_query"),
    );
    await chat.tabTo(chat.composer);
  });

  test.each([wide, narrow])("at $width px the skip link leads to the message field of the thread", async (look) => {
    const emulator = await kept(startStaged());
    const chat = await open(emulator.pageUrl, look);
    await chat.select("Builder");
    await chat.page.reload();
    await chat.whenSelected("Builder");
    await chat.page.keyboard.press("Tab");
    await chat.whenFocused(".skip");
    await chat.page.keyboard.press("Enter");
    await chat.whenFocused("#text");
    await chat.page.keyboard.type("straight here");
    await chat.page.keyboard.press("Enter");
    await chat.whenShown("mine", "straight here");
    await chat.whenSelected("Builder");
  });
});
