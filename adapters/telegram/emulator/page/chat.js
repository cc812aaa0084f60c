/**
 * The chat page: reads the emulator's control API, draws, and acts as the owner.
 *
 * Owns: the connection, the selection (in the address's fragment), what buttons do. Does not own: state rules (model.js),
 * nodes (view.js).
 * Invariant: after every (re)connection the whole state is read again, and events that come meanwhile are applied on top of
 * it, so a missed event shows for a moment only.
 */
import { applyEvent, callList, createModel, keyOf, loadAll, messagesOf, threadList } from "./model.js";
import { callNode, dayText, messageNode, reconcile, threadNode } from "./view.js";

const TYPING_MS = 5000;
const TOAST_MS = 4000;
const NEAR_BOTTOM_PX = 80;
const JOIN_S = 300;

const model = createModel();
const at = (id) => document.getElementById(id);
const app = document.querySelector(".app");
let loading = null;
/** Events that came during the reading of the whole state. */
const missed = [];
let drawn = false;
let toastTimer = 0;

async function get(path) {
  const response = await fetch(`control/${path}`);
  if (!response.ok) throw new Error(`The emulator answered ${response.status}.`);
  return response.json();
}

/** Performs one operation; a refusal is shown, and null returned. */
async function act(path, body) {
  try {
    const response = await fetch(`control/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    if (answer.ok) return answer;
    toast(answer.error);
  } catch {
    toast("The emulator cannot be reached.");
  }
  return null;
}

function reload() {
  loading ??= Promise.all([get("state"), get("messages"), get("transcript")])
    .then(([state, { messages }, { calls }]) => loadAll(model, { state, messages, calls }))
    .catch((error) => toast(error.message))
    .finally(() => {
      loading = null;
      takeMissed();
      followAddress();
    });
  return loading;
}

/** Applies again, in order, what was told during the reading: the picture that was read may be older. */
function takeMissed() {
  const isWhole = missed.splice(0).map((event) => applyEvent(model, event));
  if (isWhole.includes(false)) void reload();
}

function connect() {
  const events = new EventSource("control/events");
  events.onopen = () => {
    showLink("online", "Online");
    void reload();
  };
  events.onerror = () => showLink("offline", "Offline, retrying");
  events.onmessage = ({ data }) => {
    const event = JSON.parse(data);
    if (event.type === "callbackAnswered" && event.text !== "") toast(event.text);
    if (event.type === "chatAction") setTimeout(draw, TYPING_MS);
    if (event.type === "thread" && event.thread.status === "deleted") leaveIfSelected(event.thread);
    if (loading !== null) missed.push(event);
    if (applyEvent(model, event)) draw();
    else void reload();
  };
}

function leaveIfSelected(thread) {
  if (model.selected !== keyOf(thread.chatId, thread.threadId)) return;
  toast(`The thread “${thread.name}” was deleted.`);
  location.hash = "";
}

function showLink(state, text) {
  at("link").dataset.state = state;
  at("link").textContent = text;
  at("chat-link").hidden = state !== "offline";
}

function toast(text) {
  clearTimeout(toastTimer);
  at("toast").textContent = text;
  at("toast").classList.add("shown");
  toastTimer = setTimeout(() => at("toast").classList.remove("shown"), TOAST_MS);
}

/** `#/CHAT/THREAD` selects; anything else shows the list (and, where there is room, the first entry beside it). */
function followAddress() {
  const list = threadList(model);
  const wanted = list.find((entry) => location.hash === `#/${entry.key}`);
  const shown = wanted ?? list.find((entry) => entry.key === model.selected) ?? list[0];
  const changed = model.selected !== shown?.key;
  model.selected = shown?.key ?? null;
  app.dataset.view = wanted === undefined ? "list" : "chat";
  draw();
  if (changed || wanted !== undefined) scrollDown();
}

function draw() {
  if (drawn) return;
  drawn = true;
  requestAnimationFrame(() => {
    drawn = false;
    drawNow();
  });
}

function drawNow() {
  if (model.state === null) return;
  const visible = app.dataset.view === "chat" || matchMedia("(min-width: 760px)").matches;
  if (visible && document.visibilityState === "visible") model.unread.delete(model.selected);
  const list = threadList(model).map((entry) => ({ ...entry, selected: entry.key === model.selected }));
  const selected = list.find((entry) => entry.selected);
  at("bot-name").textContent = model.state.bot.first_name;
  const unread = list.reduce((sum, entry) => sum + entry.unread, 0);
  document.title = `${unread > 0 ? `(${unread}) ` : ""}${model.state.bot.first_name} · Partyline chat`;
  reconcile(at("threads"), list, { keyOf: (entry) => entry.key, make: threadNode });
  if (selected !== undefined) drawThread(selected);
  if (!at("calls").hidden) {
    reconcile(at("call-list"), callList(model, at("show-polls").checked), {
      keyOf: (call) => call.seq,
      make: callNode,
    });
  }
}

function drawThread(entry) {
  const stick = isNearBottom();
  const messages = messagesOf(model, entry.key);
  at("thread-name").textContent = entry.name;
  at("thread-sub").textContent = subtitle(entry);
  at("delete-thread").hidden = entry.main;
  at("close-thread").hidden = entry.main || entry.chatType !== "supergroup";
  at("close-thread").textContent = entry.status === "closed" ? "Reopen" : "Close";
  at("text").disabled = entry.status === "closed";
  at("send").disabled = entry.status === "closed";
  at("text").placeholder = entry.status === "closed" ? "This thread is closed" : "Write a message";
  at("empty").hidden = messages.length > 0;
  at("empty").textContent = "Nothing here yet. Write the first message.";
  reconcile(at("messages"), messageItems(messages, entry), {
    keyOf: (item) => item.key,
    make: (item) => messageNode(item, press),
  });
  const typing = model.typing.get(entry.key);
  const isTyping = typing !== undefined && Date.now() - typing.atMs < TYPING_MS;
  at("typing").textContent = isTyping ? `${model.state.bot.first_name} is ${typing.action.replaceAll("_", " ")}…` : "";
  if (stick) scrollDown();
}

function subtitle(entry) {
  if (entry.main)
    return entry.chatType === "private" ? "Messages outside any thread" : `${entry.chatType} ${entry.chatId}`;
  return `Thread ${entry.threadId}${entry.status === "closed" ? ", closed" : ""}`;
}

function messageItems(messages, entry) {
  const texts = new Map(messages.map((message) => [message.messageId, message.text || message.file?.name || ""]));
  const items = [];
  let previous = null;
  for (const message of messages) {
    const day = dayText(message.date);
    if (previous === null || dayText(previous.date) !== day) items.push({ key: `day ${day}`, day });
    const follows = previous !== null && !previous.service && previous.from.id === message.from.id;
    const joined = follows && message.date - previous.date < JOIN_S && items.at(-1).day === undefined;
    const reply =
      message.replyToMessageId === null ? null : (texts.get(message.replyToMessageId) ?? "a deleted message");
    items.push({ key: message.messageId, message, joined, reply, named: entry.chatType !== "private" });
    previous = message;
  }
  return items;
}

function isNearBottom() {
  const scroll = at("scroll");
  return scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR_BOTTOM_PX;
}

function scrollDown() {
  requestAnimationFrame(() => {
    at("scroll").scrollTop = at("scroll").scrollHeight;
  });
}

function selectedEntry() {
  return threadList(model).find((entry) => entry.key === model.selected);
}

function target(entry) {
  return { chatId: entry.chatId, ...(entry.threadId === null ? {} : { threadId: entry.threadId }), from: owner() };
}

function owner() {
  return { id: model.state.owner.id, first_name: model.state.owner.first_name };
}

function press(message, button) {
  const input = { chatId: message.chatId, messageId: message.messageId, data: button.data, from: owner() };
  void act("user-presses-button", input);
}

async function send() {
  const entry = selectedEntry();
  const text = at("text").value;
  if (entry === undefined || text.trim() === "") return;
  at("text").value = "";
  fitComposer();
  scrollDown();
  // A refused message goes back into the field, unless something else has been typed meanwhile.
  if ((await act("user-text", { ...target(entry), text })) === null && at("text").value === "") at("text").value = text;
}

function fitComposer() {
  const text = at("text");
  text.style.height = "auto";
  text.style.height = `${text.scrollHeight}px`;
}

async function createThread(name) {
  const entry = selectedEntry();
  const chat = model.state.chats.find(({ chatId }) => chatId === entry?.chatId);
  const chatId = chat?.isForum === true ? chat.chatId : model.state.owner.id;
  const created = await act("user-creates-thread", { chatId, name, from: owner() });
  if (created === null) return;
  toggleNewThread(false);
  await reload();
  openThread(keyOf(chatId, created.threadId));
}

/** Shows the thread and goes to its message field; on a narrow window the field is there only once the thread is shown. */
function openThread(key) {
  if (key === null) return;
  location.hash = `#/${key}`;
  followAddress();
  at("text").focus();
}

function toggleNewThread(open) {
  at("new-thread-form").hidden = !open;
  at("new-thread").setAttribute("aria-expanded", String(open));
  at("new-thread-name").value = "";
  if (open) at("new-thread-name").focus();
}

function toggleCalls(open) {
  at("calls").hidden = !open;
  app.classList.toggle("with-calls", open);
  at("calls-toggle").setAttribute("aria-expanded", String(open));
  draw();
  (open ? at("calls-close") : at("calls-toggle")).focus();
}

function onKey(event) {
  if (event.key !== "Escape") return;
  if (!at("new-thread-form").hidden) {
    toggleNewThread(false);
    at("new-thread").focus();
  } else if (!at("calls").hidden) toggleCalls(false);
}

at("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  void send();
});
at("text").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  void send();
});
at("text").addEventListener("input", fitComposer);
at("skip").addEventListener("click", (event) => {
  event.preventDefault();
  openThread(model.selected);
});
at("new-thread").addEventListener("click", () => toggleNewThread(at("new-thread-form").hidden));
at("new-thread-form").addEventListener("submit", (event) => {
  event.preventDefault();
  void createThread(at("new-thread-name").value.trim());
});
at("delete-thread").addEventListener("click", () => at("confirm-delete").showModal());
at("confirm-delete").addEventListener("close", () => {
  const entry = selectedEntry();
  const dialog = at("confirm-delete");
  if (dialog.returnValue === "delete" && entry !== undefined && !entry.main)
    void act("user-deletes-thread", target(entry));
  dialog.returnValue = "";
});
at("close-thread").addEventListener("click", () => {
  const entry = selectedEntry();
  if (entry !== undefined)
    void act(entry.status === "closed" ? "user-reopens-thread" : "user-closes-thread", target(entry));
});
at("calls-toggle").addEventListener("click", () => toggleCalls(at("calls").hidden));
at("calls-close").addEventListener("click", () => toggleCalls(false));
at("show-polls").addEventListener("change", draw);
document.addEventListener("keydown", onKey);
document.addEventListener("visibilitychange", draw);
addEventListener("hashchange", followAddress);
connect();
