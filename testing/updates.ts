/**
 * Updates of one thread as Telegram would send them, from a seed.
 *
 * Owns: what there is (messages, albums, edits, reactions, button presses) and that it hangs together: an edit, a reaction or
 * a press is about a message that came before. Does not own: who gets them.
 *
 * With a generator of your own (fast-check, say): `fc.nat().map((seed) => updatesOf(seed, 20))`.
 */
import { createRandom } from "./simulator/random.ts";
import type { Random } from "./simulator/random.ts";

/** An update as the Bot API sends it; which other fields there are depends on its kind. */
export interface SampleUpdate {
  readonly update_id: number;
  readonly [kind: string]: unknown;
}

export interface UpdateTraits {
  /** Default 1. */
  readonly firstId?: number;
  /** The user, and the private chat with the bot. Default 42. */
  readonly user?: number;
  /** Default 5. */
  readonly threadId?: number;
}

const words = ["build", "the", "release", "again", "please", "and", "tell", "me", "/stop", "👍", "naïve", "ⓘ"];
const emojis = ["👍", "👎", "⚡", "🔥"];

const textOf = (random: Random): string => Array.from({ length: random.int(1, 8) }, () => random.pick(words)).join(" ");

/** So many updates, in order. The same seed gives the same updates. */
export function updatesOf(seed: number, count: number, traits: UpdateTraits = {}): readonly SampleUpdate[] {
  const { firstId = 1, user = 42, threadId = 5 } = traits;
  const random = createRandom(seed);
  const from = { id: user, is_bot: false, first_name: "Ada" };
  const chat = { id: user, type: "private", first_name: "Ada" };
  const thread = { message_thread_id: threadId, is_topic_message: true };
  const known: number[] = [];
  let album: string | null = null;
  const message = (): object => {
    known.push(known.length + 1);
    if (album === null && random.chance(0.15)) album = `album ${known.length}`;
    else if (random.chance(0.4)) album = null;
    const content =
      album === null
        ? { text: textOf(random) }
        : {
            media_group_id: album,
            photo: [{ file_id: `file ${known.length}`, file_unique_id: "f", width: 1, height: 1 }],
          };
    return { message_id: known.length, date: 1_767_225_600 + known.length, from, chat, ...thread, ...content };
  };
  const about = (): object => ({ message_id: random.pick(known), date: 1_767_225_600, from, chat, ...thread });
  const kinds = [
    () => ({ message: message() }),
    () => ({ edited_message: { ...about(), edit_date: 1_767_225_700, text: textOf(random) } }),
    () => ({
      callback_query: { id: `press ${known.length}`, from, chat_instance: "c", data: "yes", message: about() },
    }),
    () => ({
      message_reaction: {
        chat,
        message_id: random.pick(known),
        user: from,
        date: 1_767_225_700,
        old_reaction: [],
        new_reaction: [{ type: "emoji", emoji: random.pick(emojis) }],
      },
    }),
  ];
  return Array.from({ length: count }, (_each, index): SampleUpdate => {
    const kind = known.length === 0 || random.chance(0.6) ? 0 : random.int(1, 3);
    return { update_id: firstId + index, ...kinds[kind]?.() };
  });
}
