/**
 * An emulator in this process with a conversation that shows all the page can draw, long words included.
 *
 * Owns: the content. The bot's side is spoken over the Bot API, as a bot does.
 */
import { startEmulator } from "../../../adapters/telegram/emulator/index.ts";
import type { Emulator, EmulatorOptions } from "../../../adapters/telegram/emulator/index.ts";
import { group, owner, token } from "../line/fixtures.ts";

export const longWord = `https://example.invalid/${"a-path-that-does-not-end/".repeat(12)}`;
export const longName = "A thread with a name that is much too long for the list and for the header of a phone";

/** Calls a Bot API method and gives its `result`. */
export async function botCalls(
  emulator: Emulator,
  method: string,
  payload: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const response = await fetch(`${emulator.apiRoot}/bot${token}/${method}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(payload),
  });
  // The emulator wrote it, in the Bot API's form.
  const answer = (await response.json()) as { readonly ok: boolean; readonly result?: unknown };
  if (!answer.ok) throw new Error(`${method}: ${JSON.stringify(answer)}`);
  return answer.result;
}

export const startBare = (options: Partial<EmulatorOptions> = {}): Promise<Emulator> =>
  startEmulator({ token, ...options });

/** The threads "Builder" (with everything in it) and one with a long name. */
export async function startStaged(): Promise<Emulator> {
  const emulator = await startBare();
  const { control } = emulator;
  control.userCreatesThread({ name: longName });
  const { threadId } = control.userCreatesThread({ name: "Builder" });
  const say = (payload: Readonly<Record<string, unknown>>): Promise<unknown> =>
    botCalls(emulator, "sendMessage", { chat_id: owner, message_thread_id: threadId, ...payload });
  for (let line = 1; line <= 12; line += 1) {
    control.userSends({ threadId, text: `Step ${line} please` });
    await say({ text: `Step ${line} is done.` });
  }
  const question = control.userSends({ threadId, text: "Which branch?\nAnd is the build green?" });
  await say({ text: "The main one.\nIt is green.", reply_parameters: { message_id: question.messageId } });
  control.userEdits({ messageId: question.messageId, text: "Which branch is it?\nAnd is the build green?" });
  await say({ text: longWord });
  control.userReacts({ messageId: question.messageId, emoji: "👍" });
  const file = {
    chat_id: owner,
    message_thread_id: threadId,
    document: "https://example.invalid/report-of-the-build.pdf",
  };
  await botCalls(emulator, "sendDocument", { ...file, caption: "The report" });
  await say({
    text: "Deploy it?",
    reply_markup: {
      inline_keyboard: [
        [
          { text: "Deploy", callback_data: "deploy" },
          { text: "Not now", callback_data: "later" },
        ],
        [{ text: "Open the log", url: "https://example.invalid/log" }],
      ],
    },
  });
  return emulator;
}

/** Two chats, the second a supergroup with an open and a closed thread. */
export async function startWithGroup(): Promise<Emulator> {
  const emulator = await startBare({ chats: [{ id: group, type: "supergroup", title: "The workshop" }] });
  const { threadId } = emulator.control.userCreatesThread({ chatId: group, name: "Open questions" });
  emulator.control.userSends({ chatId: group, threadId, text: "Is anybody here?" });
  const closed = emulator.control.userCreatesThread({ chatId: group, name: "Old answers" });
  emulator.control.userClosesThread({ chatId: group, threadId: closed.threadId });
  return emulator;
}
