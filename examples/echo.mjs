/**
 * The smallest agent: answers each message of its own thread, and settles it once the answer has been sent.
 *
 *   TELEGRAM_BOT_TOKEN=… PARTYLINE_USER=… node examples/echo.mjs [NAME]
 *
 * Start it several times with different names: each gets a thread, one of them leads, and killing any of them loses
 * nothing. With PARTYLINE_API_ROOT it talks to an emulator instead of Telegram. SIGTERM or Ctrl-C ends it.
 */
import { CallError, createInstance } from "partyline";

const { TELEGRAM_BOT_TOKEN: token = "", PARTYLINE_USER: user, PARTYLINE_API_ROOT: apiRoot } = process.env;
const name = process.argv[2] ?? "echo";

const instance = await createInstance({
  token,
  user: Number(user),
  name, // the same name gets the same thread again, and what waited for it
  ack: "explicit", // done when we say so: a message that we die over comes again
  ...(apiRoot ? { apiRoot } : {}),
});

instance.on("role", (role, epoch) => console.log(`role: ${role}, epoch ${epoch}`));
instance.on("error", ({ kind, message }) => console.error(`trouble (${kind}): ${message}`));

instance.on("update", async ({ update, redelivered, ack }) => {
  const text = update.message?.text;
  if (text !== undefined) {
    try {
      // No chat, no thread: the instance fills in its own, and refuses any other.
      await instance.call("sendMessage", { text: `${name}: ${text}${redelivered ? " (again)" : ""}` });
    } catch (error) {
      // Perhaps it was sent. Answering twice would be worse here; anything else fails this attempt and comes again.
      if (!(error instanceof CallError && error.isAmbiguous)) throw error;
    }
  }
  await ack();
});

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void instance.stop());

const { thread } = await instance.ready;
console.log(`ready: "${thread?.threadName ?? "the whole chat"}"`);
await instance.stopped;
