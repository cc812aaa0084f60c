/**
 * How the chat page looks: DOM nodes made from the model's entries.
 *
 * Owns: nodes of threads, messages and calls, and putting lists of them on the page. Does not own: events' effects (chat.js).
 * Invariant: text reaches the page only as text nodes, never as markup.
 */
const TINTS = 6;

export function element(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Gives `node` the attributes and children of `fresh`. */
function become(node, fresh) {
  takeAttributes(node, fresh);
  const [link, ...others] = node.children;
  const [freshLink] = fresh.children;
  if (others.length === 0 && link?.tagName === "A" && freshLink?.tagName === "A") resemble(link, freshLink);
  else node.replaceChildren(...fresh.childNodes);
  return node;
}

/**
 * The same for a link and what is in it, keeping every node that has a counterpart: a click may be under way on any of them,
 * and one that is replaced between press and release is never heard. Not for nodes that listen by themselves.
 */
function resemble(node, fresh) {
  if (node.nodeType === Node.TEXT_NODE) {
    node.data = fresh.data;
    return;
  }
  takeAttributes(node, fresh);
  const [mine, theirs] = [[...node.childNodes], [...fresh.childNodes]];
  const isAlike = mine.length === theirs.length && mine.every((each, at) => each.nodeName === theirs[at].nodeName);
  if (isAlike) mine.forEach((each, at) => resemble(each, theirs[at]));
  else node.replaceChildren(...theirs);
}

function takeAttributes(node, fresh) {
  for (const { name, value } of fresh.attributes) node.setAttribute(name, value);
  for (const { name } of [...node.attributes]) if (!fresh.hasAttribute(name)) node.removeAttribute(name);
}

/** Brings a list's children in line with `items`; an item that looks the same keeps its node (and its focus). */
export function reconcile(parent, items, { keyOf, make }) {
  const old = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  const focused = document.activeElement;
  const focusedKey = parent.contains(focused) ? focused.closest("[data-key]")?.dataset.key : undefined;
  items.forEach((item, at) => {
    const key = String(keyOf(item));
    const signature = JSON.stringify(item);
    let node = old.get(key);
    if (node === undefined || node.dataset.signature !== signature) {
      const wasOpen = node?.querySelector("details")?.open ?? false;
      const fresh = make(item);
      const details = fresh.querySelector("details");
      if (details !== null) details.open = wasOpen;
      node = node === undefined ? fresh : become(node, fresh);
      node.dataset.key = key;
      node.dataset.signature = signature;
      if (focusedKey === key) {
        const kept = node;
        queueMicrotask(() => kept.querySelector("a, button, summary")?.focus());
      }
    }
    old.delete(key);
    if (parent.children[at] !== node) parent.insertBefore(node, parent.children[at] ?? null);
  });
  for (const node of old.values()) node.remove();
}

export function timeText(dateS) {
  return new Date(dateS * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

export function dayText(dateS) {
  const date = new Date(dateS * 1000);
  const today = new Date();
  if (date.toDateString() === today.toDateString()) return "Today";
  return date.toLocaleDateString([], { weekday: "long", day: "numeric", month: "long" });
}

function summary(message) {
  if (message === null) return "No messages yet";
  const text = message.text === "" && message.file !== null ? message.file.name : message.text;
  return (message.service ? `${message.from.name} ${text}` : text).replace(/\s+/g, " ");
}

export function threadNode(entry) {
  const tint = entry.main ? "main" : String(Math.abs(entry.threadId) % TINTS);
  const letter = entry.main ? "#" : ([...entry.name.trim()][0] ?? "?").toUpperCase();
  return element(
    "li",
    {},
    element(
      "a",
      {
        class: "thread",
        href: `#/${entry.key}`,
        "aria-current": entry.selected ? "page" : null,
      },
      element("span", { class: `avatar tint-${tint}`, "aria-hidden": "true" }, letter),
      element(
        "span",
        { class: "thread-text" },
        element("span", { class: "thread-name" }, entry.name),
        element("span", { class: "thread-last" }, entry.status === "closed" ? "Closed" : summary(entry.last)),
      ),
      element(
        "span",
        { class: "thread-meta" },
        element("time", {}, entry.last === null ? "" : timeText(entry.last.date)),
        entry.unread > 0
          ? element(
              "span",
              { class: "badge" },
              String(entry.unread),
              element("span", { class: "visually-hidden" }, " unread"),
            )
          : null,
      ),
    ),
  );
}

export function messageNode(item, onPress) {
  if (item.day !== undefined) return element("li", { class: "day" }, item.day);
  const { message } = item;
  if (message.service) {
    return element("li", { class: "service" }, `${message.from.name} ${message.text} · ${timeText(message.date)}`);
  }
  const side = message.from.isBot ? "theirs" : "mine";
  return element(
    "li",
    { class: `message ${side}${item.joined ? " joined" : ""}` },
    element(
      "div",
      { class: "bubble" },
      message.from.isBot || item.named
        ? element("span", { class: item.joined ? "visually-hidden" : "from" }, message.from.name)
        : null,
      item.reply === null ? null : element("blockquote", {}, item.reply),
      message.file === null ? null : fileNode(message.file),
      message.text === "" ? null : element("p", { class: "text" }, message.text),
      element("span", { class: "stamp" }, `${message.edited ? "edited " : ""}${timeText(message.date)}`),
    ),
    message.buttons.length === 0 ? null : keyboardNode(message, onPress),
    message.reactions.length === 0 ? null : element("p", { class: "reactions" }, message.reactions.join(" ")),
  );
}

function fileNode(file) {
  const size = file.size === null ? "" : ` · ${sizeText(file.size)}`;
  return element("p", { class: "file" }, element("strong", {}, file.kind), ` ${file.name}${size}`);
}

function sizeText(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

function keyboardNode(message, onPress) {
  const rows = message.buttons.map((row) =>
    element("div", { class: "keys" }, ...row.map((button) => keyNode(message, button, onPress))),
  );
  return element("div", { class: "keyboard" }, ...rows);
}

function keyNode(message, button, onPress) {
  if (button.data === null) return element("button", { class: "key", type: "button", disabled: true }, button.text);
  return element("button", { class: "key", type: "button", onclick: () => onPress(message, button) }, button.text);
}

export function callNode(call) {
  const { kind } = call.outcome;
  const label = kind === "answered" ? String(call.outcome.status) : kind;
  const good = kind === "answered" && call.outcome.status < 400;
  const mood = kind === "pending" ? "waiting" : good ? "good" : "bad";
  const thread = call.payload.message_thread_id;
  const took = call.endedAtMs === null ? "" : `${call.endedAtMs - call.atMs} ms`;
  const answer = kind === "answered" ? call.outcome.body : call.outcome;
  return element(
    "li",
    {},
    element(
      "details",
      {},
      element(
        "summary",
        {},
        element("span", { class: "method" }, call.method),
        element(
          "span",
          { class: "call-meta" },
          [thread === undefined ? "" : `thread ${thread}`, call.fault ?? "", took].filter(Boolean).join(" · "),
        ),
        element("span", { class: `status ${mood}` }, label),
      ),
      element(
        "pre",
        { tabindex: "0", "aria-label": "Arguments and answer" },
        `${JSON.stringify(call.payload, null, 2)}\n→ ${typeof answer === "string" ? answer : JSON.stringify(answer, null, 2)}`,
      ),
    ),
  );
}
