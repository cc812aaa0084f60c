/**
 * What the chat page knows: chats, threads, messages, calls, what is unread.
 *
 * Owns: the state and how events change it. Does not own: the DOM (view.js), the network (chat.js).
 * Invariant: everything here came from the emulator, except what was read and what is selected.
 */
export const CALLS_MAX = 300;

export const keyOf = (chatId, threadId) => `${chatId}/${threadId ?? 0}`;

export function createModel() {
  return {
    state: null,
    threads: new Map(),
    messages: new Map(),
    calls: new Map(),
    unread: new Map(),
    typing: new Map(),
    selected: null,
  };
}

/** Takes a full picture; what was unread stays so. */
export function loadAll(model, { state, messages, calls }) {
  model.state = state;
  model.threads = new Map(state.threads.map((thread) => [keyOf(thread.chatId, thread.threadId), thread]));
  model.messages = new Map(messages.map((message) => [`${message.chatId}:${message.messageId}`, message]));
  model.calls = new Map(calls.slice(-CALLS_MAX).map((call) => [call.seq, call]));
}

/** Applies one event of the stream; returns false when the whole state must be read again. */
export function applyEvent(model, event) {
  switch (event.type) {
    case "message":
      addMessage(model, event.message);
      return true;
    case "messageDeleted":
      model.messages.delete(`${event.chatId}:${event.messageId}`);
      return true;
    case "thread":
      changeThread(model, event.thread);
      return true;
    case "call":
      model.calls.set(event.call.seq, event.call);
      if (model.calls.size > CALLS_MAX) model.calls.delete(model.calls.keys().next().value);
      return true;
    case "chatAction":
      model.typing.set(keyOf(event.chatId, event.threadId), { action: event.action, atMs: Date.now() });
      return true;
    case "callbackAnswered":
      return true;
    default:
      return false;
  }
}

function addMessage(model, message) {
  const id = `${message.chatId}:${message.messageId}`;
  const key = keyOf(message.chatId, message.threadId);
  const isNew = !model.messages.has(id);
  model.messages.set(id, message);
  if (!isNew) return;
  if (message.from.isBot) model.typing.delete(key);
  // Also in the selected thread: whether it is seen, the page knows when it draws.
  if (message.from.isBot && !message.service) model.unread.set(key, (model.unread.get(key) ?? 0) + 1);
}

function changeThread(model, thread) {
  const key = keyOf(thread.chatId, thread.threadId);
  model.threads.set(key, thread);
  if (thread.status !== "deleted") return;
  model.unread.delete(key);
  for (const [id, message] of model.messages) {
    if (keyOf(message.chatId, message.threadId) === key) model.messages.delete(id);
  }
}

export function messagesOf(model, key) {
  return [...model.messages.values()]
    .filter((message) => keyOf(message.chatId, message.threadId) === key)
    .sort((a, b) => a.messageId - b.messageId);
}

/** The list at the left: each chat's main chat first, then its threads, the latest on top. */
export function threadList(model) {
  if (model.state === null) return [];
  const last = new Map();
  for (const message of model.messages.values()) {
    const key = keyOf(message.chatId, message.threadId);
    const known = last.get(key);
    if (known === undefined || message.messageId > known.messageId) last.set(key, message);
  }
  const several = model.state.chats.length > 1;
  return model.state.chats.flatMap((chat) => {
    const mainKey = keyOf(chat.chatId, null);
    const main = {
      key: mainKey,
      chatId: chat.chatId,
      threadId: null,
      name: several ? chat.title : "Main chat",
      main: true,
      several,
      chatType: chat.type,
      status: "open",
    };
    const threads = [...model.threads.values()]
      .filter((thread) => thread.chatId === chat.chatId && thread.status !== "deleted")
      .map((thread) => ({ ...thread, key: keyOf(thread.chatId, thread.threadId), main: false, chatType: chat.type }))
      .sort((a, b) => (last.get(b.key)?.date ?? 0) - (last.get(a.key)?.date ?? 0) || b.threadId - a.threadId);
    return [main, ...threads].map((entry) => ({
      ...entry,
      last: last.get(entry.key) ?? null,
      unread: model.unread.get(entry.key) ?? 0,
    }));
  });
}

export function callList(model, withPolls) {
  return [...model.calls.values()].filter((call) => withPolls || call.method.toLowerCase() !== "getupdates").reverse();
}
