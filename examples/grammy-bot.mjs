/**
 * A grammY bot on its thread: the bot is written as always, and attached instead of started.
 *
 *   TELEGRAM_BOT_TOKEN=… PARTYLINE_USER=… node examples/grammy-bot.mjs
 *
 * `attach` turns the bot's API calls and updates over to the instance. The bot never polls and never calls Telegram by
 * itself, so `bot.start()` is left out.
 */
import { Bot, InlineKeyboard } from "grammy";
import { createInstance } from "partyline";
import { attach } from "partyline/grammy";

const { TELEGRAM_BOT_TOKEN: token = "", PARTYLINE_USER: user, PARTYLINE_API_ROOT: apiRoot } = process.env;

const bot = new Bot(token);
bot.command("start", (ctx) =>
  ctx.reply("Pick one.", { reply_markup: new InlineKeyboard().text("tea", "tea").text("coffee", "coffee") }),
);
bot.on("callback_query:data", async (ctx) => {
  await ctx.answerCallbackQuery();
  await ctx.reply(`One ${ctx.callbackQuery.data}, coming up.`);
});
bot.on("message:text", (ctx) => ctx.reply(`You said: ${ctx.message.text}`));

const instance = await createInstance({
  token,
  user: Number(user),
  name: "waiter",
  ack: "explicit", // attach() acks each update when the middleware has ended without an error
  ...(apiRoot ? { apiRoot } : {}),
});
instance.on("error", ({ kind, message }) => console.error(`trouble (${kind}): ${message}`));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void instance.stop());

await instance.ready;
await attach(bot, instance);
console.log(`ready: @${bot.botInfo.username} is on the line`);
await instance.stopped;
