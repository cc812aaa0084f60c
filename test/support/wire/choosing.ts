/**
 * A thread that nobody has, and a user who writes there and presses the buttons of the question about it.
 *
 * Owns: those updates, what the leader said and did about the thread. Does not own: what is expected of it.
 */
import { owner } from "./leader.ts";
import type { LeaderWorld } from "./leader.ts";
import type { SeenCall } from "./scripted-telegram.ts";

export const strange = 777;

let lastId = 5_000;
const person = (id: number) => ({ id, is_bot: false, first_name: "U" });
const chat = { id: owner, type: "private", first_name: "U" };

function give({ telegram }: LeaderWorld, carrier: Readonly<Record<string, unknown>>): number {
  lastId += 1;
  telegram.give(Object.assign({ update_id: lastId }, carrier));
  return lastId;
}

const message = (id: number, fields: object) => ({
  message_id: id,
  date: 1,
  chat,
  from: person(owner),
  message_thread_id: strange,
  is_topic_message: true,
  ...fields,
});

/** The user writes in the strange thread; the message's id. */
export function write(world: LeaderWorld, text: string, fields: object = {}): number {
  const id = lastId + 1;
  give(world, { message: message(id, { text, ...fields }) });
  return id;
}

/** The user changes a message there. */
export const edit = (world: LeaderWorld, id: number, text: string): number =>
  give(world, { edited_message: message(id, { text, edit_date: 2 }) });

/** A press of the button with this data, by the user and under the first question unless it says otherwise; its id. */
export function press(
  world: LeaderWorld,
  data: string,
  { by = owner, under = 901, fields = {} }: { by?: number; under?: number; fields?: object } = {},
): string {
  const id = `press-${String(lastId + 1)}`;
  const query = { id, from: person(by), chat_instance: "1", data, message: message(under, { text: "?", ...fields }) };
  give(world, { callback_query: query });
  return id;
}

interface Row {
  readonly text: string;
  readonly callback_data: string;
}
/** The buttons of a call that sends or renews a question. */
export function buttonsOf({ payload }: SeenCall): readonly Row[] {
  const markup = payload["reply_markup"] as { readonly inline_keyboard: readonly (readonly Row[])[] } | undefined; // as the leader made it
  return markup?.inline_keyboard.flat() ?? [];
}

/** What the leader has said in the strange thread. */
export const said = ({ telegram }: LeaderWorld): readonly SeenCall[] =>
  telegram.of("sendMessage").filter(({ payload }) => payload["message_thread_id"] === strange);

/** The data of the button for this thread in the latest question. */
export function buttonFor(world: LeaderWorld, thread: number): string {
  const shown = [...world.telegram.calls].reverse().find((call) => buttonsOf(call).length > 0);
  const data = shown === undefined ? [] : buttonsOf(shown).map(({ callback_data: each }) => each);
  const found = data.find((each) => each.endsWith(`:${String(thread)}`));
  if (found === undefined) throw new Error(`no button leads to thread ${String(thread)}: ${data.join(", ")}`);
  return found;
}

/** What the user was told after a press. */
export const toldAfter = ({ telegram }: LeaderWorld, id: string): readonly unknown[] =>
  telegram
    .of("answerCallbackQuery")
    .flatMap(({ payload }) => (payload["callback_query_id"] === id ? [payload["text"]] : []));

export const deletions = ({ telegram }: LeaderWorld): readonly unknown[] =>
  telegram.of("deleteForumTopic").map(({ payload }) => payload["message_thread_id"]);

export const journalOf = async ({ store }: LeaderWorld) => (await store.status.read()).journal;
export const nothingWaits = { waiting: 0, claimed: 0, deadLetters: 0 };
