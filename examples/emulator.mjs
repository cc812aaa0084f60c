/**
 * The Bot API emulator by itself: start it, call the Bot API, act as the user, read what happened.
 *
 *   node examples/emulator.mjs
 *
 * Nothing here knows of instances: the emulator serves any bot, in any language, that can change its API root.
 */
import { startEmulator } from "partyline/emulator";

const token = "700001:any-token-will-do-it-means-nothing-to-telegram";
const emulator = await startEmulator({ token });
console.log(`listening: ${emulator.apiRoot}`);

/** Any HTTP client will do; a bot would use its framework. */
async function api(method, payload = {}) {
  const response = await fetch(`${emulator.apiRoot}/bot${token}/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(payload),
  });
  return response.json();
}

try {
  const me = await api("getMe");
  console.log(`the bot is @${me.result.username}`);

  // The user writes, over the same control API that the chat page and POST /control/user-text use.
  emulator.control.userSends({ text: "is anybody there?" });
  const { result: updates } = await api("getUpdates", { timeout: 5 });
  for (const { message } of updates) {
    console.log(`the user wrote: ${message.text}`);
    await api("sendMessage", { chat_id: message.chat.id, text: `You wrote: ${message.text}` });
  }

  // It refuses what Telegram refuses, in Telegram's words.
  const refused = await api("sendMessage", { chat_id: updates[0].message.chat.id, message_thread_id: 99, text: "hm" });
  console.log(`refused: ${refused.description}`);

  for (const { from, text } of emulator.control.messages({})) console.log(`${from.isBot ? "bot " : "user"}: ${text}`);
} finally {
  await emulator.close();
}
