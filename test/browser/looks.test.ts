/**
 * How the chat page looks, light and dark, wide and narrow: nothing outside, covered or cut, every text readable. A picture of
 * each is written to node_modules/.cache/partyline/shots/, for people.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Emulator } from "../../adapters/telegram/emulator/index.ts";
import type { Chat, ChatLook } from "../support/browser/chat.ts";
import { describeInBrowser } from "../support/browser/chromium.ts";
import { longName, startStaged, startWithGroup } from "../support/browser/staged.ts";
import { useChats } from "../support/browser/use-chats.ts";
import { contrastFaults, layoutFaults } from "./in-page.ts";

const looks: readonly ChatLook[] = (["light", "dark"] as const).flatMap((scheme) => [
  { width: 1280, height: 800, scheme },
  { width: 390, height: 844, scheme },
]);

const list = ["#bot-name", "#link", "#new-thread", "#threads .thread"];
const header = ["#thread-name", "#thread-sub", "#calls-toggle"];
const composer = ["#text", ".send"];
const calls = ["#calls h2", "#show-polls", "#calls-close", ".call-list summary .method"];

describeInBrowser("the looks", (browser) => {
  const open = useChats(browser);
  let staged: Emulator;
  let withGroup: Emulator;
  beforeAll(async () => {
    [staged, withGroup] = await Promise.all([startStaged(), startWithGroup()]);
  });
  afterAll(async () => {
    await Promise.all([staged.close(), withGroup.close()]);
  });

  test.each(looks)("in the $scheme scheme at $width px", async (look) => {
    const isWide = look.width > 760;
    const inspect = async (chat: Chat, what: string, important: readonly string[]): Promise<void> => {
      const name = `${look.width}-${look.scheme}-${what}`;
      await chat.shoot(name);
      expect(await chat.page.evaluate(layoutFaults, important), name).toEqual([]);
      const { measured, faults } = await chat.page.evaluate(contrastFaults);
      expect(faults, name).toEqual([]);
      expect(measured, `${name}: texts that were measured`).toBeGreaterThan(5);
    };
    const beside = isWide ? [...list, ...header] : ["#back", ...header];

    const chat = await open(staged.pageUrl, look);
    await chat.whenThreads("Builder", longName);
    await inspect(chat, "list", isWide ? [...beside, ...composer] : list);
    await chat.page.locator("#new-thread").click();
    await inspect(chat, "new-thread", [...list, "#new-thread-name", "#new-thread-form [type=submit]"]);
    await chat.page.keyboard.press("Escape");

    await chat.select(longName);
    await inspect(chat, "empty", [...beside, "#delete-thread", ...composer]);
    await chat.select("Builder");
    await chat.page.locator(".key", { hasText: "Deploy" }).waitFor();
    await inspect(chat, "chat", [...beside, "#delete-thread", ...composer, ".keyboard"]);
    await chat.composer.fill(`Several lines\n${"that go on and on ".repeat(12)}\nand on.`);
    await inspect(chat, "writing", [...beside, ...composer]);
    await chat.composer.fill("");
    await chat.page.locator("#scroll").evaluate((scroll) => {
      scroll.scrollTop = 0;
    });
    await inspect(chat, "earlier", [...beside, ...composer, ".day"]);

    await chat.page.locator("#delete-thread").click();
    await inspect(chat, "dialog", ["#confirm-title", "dialog button", "dialog .danger"]);
    await chat.page.keyboard.press("Escape");
    await chat.page.locator("#calls-toggle").click();
    await chat.page.locator(".call-list summary").first().click();
    await chat.page.locator(".call-list pre:visible").waitFor();
    await inspect(chat, "calls", isWide ? [...beside, ...composer, ...calls] : calls);

    const inGroup = await open(withGroup.pageUrl, look);
    await inGroup.select("Old answers");
    await inspect(inGroup, "group", [...beside, "#close-thread", "#delete-thread", ...composer]);
  });

  test.each(looks)("cut off, in the $scheme scheme at $width px", async (look) => {
    const emulator = await startStaged();
    try {
      const chat = await open(emulator.pageUrl, look);
      await chat.select("Builder");
      await emulator.close();
      await chat.whenLink("offline");
      await chat.write("hello?");
      await chat.toast.waitFor();
      await chat.shoot(`${look.width}-${look.scheme}-offline`);
      expect(await chat.page.evaluate(layoutFaults, [...header, ...composer])).toEqual([]);
      expect((await chat.page.evaluate(contrastFaults)).faults).toEqual([]);
      const said = chat.page.locator(".sub:has(> .link):visible").first();
      expect(await said.evaluate((line) => line.scrollWidth <= line.clientWidth), "it can be read whole").toBe(true);
      chat.forgiveBeingCutOff();
    } finally {
      await emulator.close();
    }
  });
});
