/**
 * Removes bot tokens and secrets from whatever is about to be shown, logged or recorded.
 *
 * Owns: what counts as a secret (anything shaped like a bot token, and the exact values it is given), and the plain copy
 * that it makes of nested values and errors.
 * Does not own: where the copy goes.
 *
 * Invariants:
 * 1. No input makes it throw: cycles, throwing getters and odd values become short notes.
 * 2. The input is never changed.
 * 3. The copy is plain data of bounded size: depth, entries per level and text length have maxima.
 */

export interface Redactor {
  text(text: string): string;
  /** A plain copy: objects, arrays, maps and errors (name, message, code, stack, cause) walked, keys included. */
  value(value: unknown): unknown;
}

const depthMax = 8;
const entriesMax = 200;
const textCharsMax = 16_384;
const note = "<redacted>";
const tokenNote = "<redacted-token>";
/** One digit, the colon, thirty more. */
const tokenCharsMin = 32;
/** `%3A` is the colon in a URL. Bounded, so that a long run of digits is not scanned again from each of them. */
const tokenForm = /\d{1,20}(?::|%3A)[A-Za-z0-9_-]{30,}/gi;

/** `secrets` is asked each time: the lease's secret changes with each leader. Empty values are ignored. */
export function redactor(secrets: () => readonly string[]): Redactor {
  const text = (plain: string): string => {
    const given = secrets();
    // Most texts are keys and words, too short to hold a secret.
    if (plain.length < tokenCharsMin && !given.some((secret) => secret !== "" && secret.length <= plain.length))
      return plain;
    let shown = plain;
    // Longest first: a secret may contain another.
    for (const secret of given.filter((each) => each !== "").sort((a, b) => b.length - a.length)) {
      shown = shown.replaceAll(secret, note);
      // Only plain ASCII: `encodeURIComponent` throws on half a surrogate pair.
      if (/^[\x20-\x7e]+$/.test(secret)) shown = shown.replaceAll(encodeURIComponent(secret), note);
    }
    return shown.replace(tokenForm, tokenNote);
  };
  return { text, value: (value) => copy(value, { text, depth: 0, above: [] }) };
}

interface Walk {
  readonly text: (plain: string) => string;
  readonly depth: number;
  /** The objects this one lies in: meeting one again is a cycle. */
  readonly above: readonly object[];
}

function copy(value: unknown, walk: Walk): unknown {
  switch (typeof value) {
    case "string":
      return shorten(walk.text(value));
    case "bigint":
      return String(value);
    case "function":
    case "symbol":
      return `<${typeof value}>`;
    case "object":
      return value === null ? null : copyObject(value, walk);
    default:
      return value;
  }
}

function copyObject(value: object, walk: Walk): unknown {
  if (walk.above.includes(value)) return "<cycle>";
  if (walk.depth >= depthMax) return "<too deep>";
  const inner: Walk = { ...walk, depth: walk.depth + 1, above: [...walk.above, value] };
  try {
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? "<invalid date>" : value.toISOString();
    if (value instanceof URL || value instanceof RegExp) return shorten(walk.text(String(value)));
    if (ArrayBuffer.isView(value)) return `<${value.byteLength} bytes>`;
    if (value instanceof Map)
      return copyEntries(
        [...value].map(([key, item]) => [String(key), item]),
        inner,
      );
    if (Array.isArray(value) || value instanceof Set) return copyItems([...value], inner);
    if (value instanceof Error) return copyEntries(errorEntries(value), inner);
    return copyEntries(ownEntries(value), inner);
  } catch {
    // A proxy or a prototype that throws when looked at: the note says all that can be said.
    return "<unreadable>";
  }
}

function copyItems(items: readonly unknown[], walk: Walk): unknown[] {
  const shown = items.slice(0, entriesMax).map((item) => copy(item, walk));
  return items.length > entriesMax ? [...shown, `<${items.length - entriesMax} more>`] : shown;
}

function copyEntries(entries: readonly (readonly [string, unknown])[], walk: Walk): Record<string, unknown> {
  const shown = entries.slice(0, entriesMax).map(([key, item]) => [shorten(walk.text(key)), copy(item, walk)] as const);
  if (entries.length > entriesMax) shown.push(["…", `<${entries.length - entriesMax} more>`]);
  return Object.fromEntries(shown);
}

/** An error's own fields (grammY's `HttpError` keeps the cause, and with it the URL, in `error`) and the standard ones. */
function errorEntries(error: Error): [string, unknown][] {
  const standard: [string, unknown][] = [
    ["name", error.name],
    ["message", error.message],
    ["stack", error.stack],
  ];
  if (error.cause !== undefined) standard.push(["cause", error.cause]);
  const known = new Set(["name", "message", "stack", "cause"]);
  return [...standard, ...ownEntries(error).filter(([key]) => !known.has(key))];
}

function ownEntries(value: object): [string, unknown][] {
  return Object.keys(value).map((key) => [key, read(value, key)]);
}

function read(value: object, key: string): unknown {
  try {
    return Reflect.get(value, key);
  } catch {
    // A getter that throws: its absence would hide that the field exists.
    return "<unreadable>";
  }
}

const shorten = (text: string): string =>
  text.length <= textCharsMax
    ? text
    : `${text.slice(0, textCharsMax)}… <${text.length - textCharsMax} more characters>`;
