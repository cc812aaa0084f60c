/** Pages opened in a test, closed after it; a page that made trouble without being expected to fails its test. */
import type { Browser, Page } from "playwright-core";
import { afterEach, expect } from "vitest";
import { Chat } from "./chat.ts";
import type { ChatLook } from "./chat.ts";

export type OpenChat = (url: string, look?: ChatLook, prepare?: (page: Page) => Promise<void>) => Promise<Chat>;

export function useChats(browser: () => Browser): OpenChat {
  const open: Chat[] = [];
  afterEach(async () => {
    const chats = open.splice(0);
    const troubles = chats.flatMap((chat) => chat.troubles);
    await Promise.all(chats.map((chat) => chat.close()));
    expect(troubles, "what the page had trouble with").toEqual([]);
  });
  return async (url, look, prepare) => {
    const chat = await Chat.open(browser(), url, look, prepare);
    open.push(chat);
    return chat;
  };
}
