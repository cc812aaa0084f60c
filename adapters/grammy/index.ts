/**
 * `partyline/grammy`: a grammY bot on its thread, in the same process and without HTTP.
 *
 * Owns: the bot's two directions. API calls go through the line instead of to Telegram; the line's updates go to
 * `bot.handleUpdate`. Does not own: the line (the instance fills in the thread and refuses foreign ones), the bot's
 * middleware, the token (the bot's own is never used).
 *
 * Invariants:
 * 1. While attached, no call of the bot reaches Telegram by itself, and the bot never polls.
 * 2. Transformers keep working, also those installed before: they run in front of the line.
 * 3. An update is acknowledged once the middleware, or the handler set with `bot.catch`, has ended without an error.
 */
import { HttpError, type Bot, type Context, type Transformer } from "grammy";
import type { Update, UserFromGetMe } from "grammy/types";
import type { TelegramError } from "../../services/ports.ts";

/** What a bot needs of an instance. */
export interface Line {
  /**
   * Resolves with the method's result. Rejects with an error that has `error_code` and `description`, itself or in its
   * field `error`, when Telegram refused; with any other error when it is not known to have answered.
   */
  call(method: string, payload: object): Promise<unknown>;
  /** Returns a function that unsubscribes. A handler that rejects has failed: the instance decides about another attempt. */
  on(event: "update", handler: (update: LineUpdate) => void | Promise<void>): () => void;
}

export interface LineUpdate {
  readonly update: Update;
  /** Settles the update. Does nothing where the instance acknowledges by itself. */
  ack(): Promise<unknown>;
}

type AnyCall = (method: string, payload: object, signal?: Abortable) => Promise<unknown>;

/** As much of an abort signal as is used; grammY's own type is of another package. */
interface Abortable {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** The line a bot is attached to, null when it is not. Transformers cannot be removed: each bot gets one, for good. */
const lines = new WeakMap<object, { line: Line | null }>();

/**
 * Puts `bot` on `line` and resolves, once it knows who it is (`getMe`, unless `botInfo` is set), with a function that
 * takes it off again. Afterwards updates flow; do not call `bot.start()`.
 *
 * Failed calls surface as grammY's `GrammyError` where Telegram answered, else as its `HttpError`. An error of the
 * middleware goes to the handler of `bot.catch`; without one the update counts as failed.
 * Rejects when the bot polls already or is attached, and when `getMe` fails; then the bot is as it was.
 */
export async function attach<C extends Context>(bot: Bot<C>, line: Line): Promise<() => void> {
  if (bot.isRunning()) throw new Error("This bot is polling Telegram itself. Call bot.stop() before attach().");
  const slot = slotOf(bot);
  if (slot.line !== null) throw new Error("This bot is attached to a line already. Detach it first.");
  slot.line = line;
  bot.start = refuseStart;
  const release = (): void => {
    slot.line = null;
    // The class's own method shows again.
    Reflect.deleteProperty(bot, "start");
  };
  try {
    // Not bot.init(), which repeats a failed getMe for ever.
    if (!bot.isInited()) bot.botInfo = await whoAmI(bot);
  } catch (error) {
    release();
    throw error;
  }
  const unsubscribe = line.on("update", (update) => handle(bot, update));
  let attached = true;
  return () => {
    if (!attached) return;
    attached = false;
    unsubscribe();
    release();
  };
}

const whoAmI = async (bot: { readonly api: { getMe(): Promise<UserFromGetMe> } }): Promise<UserFromGetMe> =>
  await bot.api.getMe();

const refuseStart = (): Promise<void> =>
  Promise.reject(
    new Error("This bot gets its updates from its line: bot.start() would poll Telegram beside it. Leave it out."),
  );

async function handle<C extends Context>(bot: Bot<C>, delivery: LineUpdate): Promise<void> {
  try {
    await bot.handleUpdate(delivery.update);
  } catch (error) {
    // As bot.start() does it. The handler that a bot has by default throws the error on: the update has failed.
    // handleUpdate throws only BotError once the bot is inited, which attach() saw to.
    await bot.errorHandler(error as Parameters<typeof bot.errorHandler>[0]);
  }
  await delivery.ack();
}

function slotOf<C extends Context>(bot: Bot<C>): { line: Line | null } {
  const known = lines.get(bot);
  if (known !== undefined) return known;
  const slot: { line: Line | null } = { line: null };
  // The last transformer is the outermost. The earlier ones would be skipped with `prev`, so they are run here, in the
  // same order, in front of the line.
  const earlier = bot.api.config.installedTransformers();
  const transformer = (prev: AnyCall, method: string, payload: object, signal?: Abortable): Promise<unknown> => {
    const { line } = slot;
    if (line === null) return prev(method, payload, signal);
    const onLine = earlier.reduce<AnyCall>(
      (inner, outer) => (m, p, s) => asAny(outer)(inner, m, p, s),
      (m, p, s) => callLine(line, m, p, s),
    );
    return onLine(method, payload, signal);
  };
  // grammY ties payload and answer to the method's name; the line carries every method alike.
  bot.api.config.use(transformer as unknown as Transformer);
  lines.set(bot, slot);
  return slot;
}

/** The same loss of types, the other way round. */
const asAny = (transformer: Transformer) =>
  transformer as unknown as (prev: AnyCall, method: string, payload: object, signal?: Abortable) => Promise<unknown>;

/** One call over the line, in the form in which Telegram answers. */
async function callLine(line: Line, method: string, payload: object, signal: Abortable | undefined): Promise<unknown> {
  if (method.toLowerCase() === "getupdates") {
    throw new Error("This bot gets its updates from its line; getUpdates would poll Telegram beside it.");
  }
  try {
    return { ok: true, result: await abortable(() => line.call(method, payload), method, signal) };
  } catch (error) {
    const refusal = refusalIn(error);
    if (refusal !== null) return { ok: false, ...refusal };
    throw error instanceof HttpError ? error : new HttpError(`Network request for '${method}' failed!`, error);
  }
}

/** Stops waiting when the signal aborts. The call itself goes on: the line does not take one back. */
async function abortable<Result>(
  call: () => Promise<Result>,
  method: string,
  signal: Abortable | undefined,
): Promise<Result> {
  if (signal === undefined) return await call();
  const aborted = (): Error => new Error(`The call to '${method}' was aborted.`);
  if (signal.aborted) throw aborted();
  let onAbort = (): void => undefined;
  const cut = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(aborted());
    signal.addEventListener("abort", onAbort);
  });
  try {
    return await Promise.race([call(), cut]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Telegram's refusal, when the error is one or holds one in `error`. */
function refusalIn(error: unknown): TelegramError | null {
  if (typeof error !== "object" || error === null) return null;
  for (const candidate of [error, "error" in error ? error.error : null]) {
    if (!isTelegramError(candidate)) continue;
    const { error_code, description, parameters } = candidate;
    return { error_code, description, ...(parameters === undefined ? {} : { parameters }) };
  }
  return null;
}

const isTelegramError = (error: unknown): error is TelegramError =>
  typeof error === "object" &&
  error !== null &&
  "error_code" in error &&
  typeof error.error_code === "number" &&
  "description" in error &&
  typeof error.description === "string";
