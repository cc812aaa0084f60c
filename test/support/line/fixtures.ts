/**
 * The made-up ids that the tests of a running line share, and updates built from them.
 */
export const token = "700001:AAFakeFakeFakeFakeFakeFakeFakeFake0";
export const owner = 5_550_001;
export const stranger = 5_559_999;
export const group = -1_009_990_001;
/** Threads of the followers FA, FB and FC; the message id after each is that of the notice in it. */
export const threads = { FA: 41, FB: 51, FC: 61 } as const;

export const strangerUser = { id: stranger, is_bot: false, first_name: "Stranger" } as const;
const ownerUser = { id: owner, is_bot: false, first_name: "Owner" } as const;
const ownerChat = { id: owner, type: "private", first_name: "Owner" } as const;
const date = 1_790_000_000;

/** A message of the owner in a thread of the owner's private chat. */
export const messageUpdate = (updateId: number, threadId: number, text: string) => ({
  update_id: updateId,
  message: {
    message_id: updateId % 100_000,
    date,
    chat: ownerChat,
    from: ownerUser,
    message_thread_id: threadId,
    is_topic_message: true,
    text,
  },
});

/** The owner changes a message of theirs in a thread. */
export function editUpdate(updateId: number, threadId: number, text: string) {
  const { message } = messageUpdate(updateId, threadId, text);
  return { update_id: updateId, edited_message: { ...message, edit_date: date + 1 } };
}

/** A button pressed by the owner under a message of a thread. */
export const callbackUpdate = (updateId: number, threadId: number, messageId: number) => ({
  update_id: updateId,
  callback_query: {
    id: `9001${updateId}`,
    from: ownerUser,
    chat_instance: "ci1",
    data: "ok",
    message: {
      message_id: messageId,
      date,
      chat: ownerChat,
      message_thread_id: threadId,
      is_topic_message: true,
      text: "?",
    },
  },
});
