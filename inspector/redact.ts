/**
 * What may be shown of a running instance: not tokens and secrets, not what people write, not who they are.
 *
 * Owns: which fields of updates, calls and contexts hold people's words and names.
 * Does not own: tokens and exact secrets (`plain` knows them, and makes the copy).
 *
 * Invariants:
 * 1. Content and secrets are recognised by field, wherever it lies: in definitions, contexts, events, outputs, errors, and inside
 *    texts that are JSON (a journal entry's body).
 * 2. Lengths are kept: `<12 characters>` tells as much as somebody who debugs needs.
 * 3. What lies deeper than is looked at is not shown.
 * 4. Names of threads, seats and charts are the operator's own words and are shown.
 */

/** Bot API fields that hold what somebody wrote, and a call's own of the same kinds. */
const contentFields: ReadonlySet<string> = new Set([
  "text",
  "caption",
  "title",
  "description_text",
  "quote",
  "data",
  "callback_data",
  "query",
  "question",
  "explanation",
  "url",
  "switch_inline_query",
  "switch_inline_query_current_chat",
  "input_field_placeholder",
  "phone_number",
  "vcard",
  "address",
  "file_name",
  "performer",
  "inviteLink",
  "invite_link",
  "bio",
  "email",
  "button_text",
  "option_text",
  // Of rich messages (`RichText`, `RichBlock`, `InputRichMessage`).
  "html",
  "markdown",
  "alternative_text",
  "summary",
  "credit",
  "expression",
  "email_address",
  "bank_card_number",
  "hashtag",
  "cashtag",
  "bot_command",
  "anchor_name",
  "reference_name",
]);
/** Bot API fields that say who somebody is. */
const nameFields: ReadonlySet<string> = new Set([
  "first_name",
  "last_name",
  "username",
  "author_signature",
  "forward_sender_name",
  "sender_user_name",
  "custom_title",
  "active_usernames",
  "suggested_name",
  "suggested_username",
  "sender_tag",
]);
/** Bot API fields whose whole value, numbers included, says where or who somebody is. */
const privateFields: ReadonlySet<string> = new Set([
  "location",
  "latitude",
  "longitude",
  "birthdate",
  "order_info",
  "shipping_address",
  "passport_data",
]);
/** Ours: what opens a connection. A follower's context holds its leader's, which the process's own list does not know. */
const secretFields: ReadonlySet<string> = new Set(["secret", "auth", "token", "secret_token", "password"]);
const depthMax = 12;
/** How an object, or a list of objects, lists or texts, begins. */
const jsonForm = /^\s*(?:\{\s*"|\[\s*["[{])/;

const lengthNote = (text: string): string => `<${text.length} character${text.length === 1 ? "" : "s"}>`;

export interface RedactOptions {
  /** Removes tokens and exact secrets, and makes a plain bounded copy. Must not throw. */
  readonly plain: (value: unknown) => unknown;
  /** Show what people write all the same. Names stay out. Default false. */
  readonly showTexts?: boolean;
}

export function inspectorRedact({ plain, showTexts = false }: RedactOptions): (value: unknown) => unknown {
  const walk = (value: unknown, key: string, depth: number): unknown => {
    if (typeof value === "string") return ofText(value, key, depth);
    if (typeof value !== "object" || value === null) return value;
    // What was not looked at is not shown: JSON within a text may nest as deep as whoever wrote it likes.
    if (depth >= depthMax) return "<too deep>";
    // Texts in a list are what the list is: a `RichText` may be a list of texts.
    if (Array.isArray(value)) return value.map((item) => walk(item, key, depth + 1));
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, ofField(name, item, depth)]));
  };
  const ofField = (name: string, item: unknown, depth: number): unknown => {
    const isKept = secretFields.has(name) || privateFields.has(name);
    if (!isKept) return walk(item, name, depth + 1);
    return item === null || item === undefined || item === "" ? item : "<redacted>";
  };
  const ofText = (text: string, key: string, depth: number): unknown => {
    if (nameFields.has(key)) return lengthNote(text);
    if (contentFields.has(key)) return showTexts ? text : lengthNote(text);
    if (key !== "body" && key !== "payload" && !jsonForm.test(text)) return text;
    try {
      const inner: unknown = JSON.parse(text);
      return typeof inner === "object" && inner !== null
        ? JSON.stringify(walk(inner, "", depth + 1))
        : lengthNote(text);
    } catch {
      // Cut by a limit on length, or no JSON: what it is cannot be told, so it is not shown.
      return lengthNote(text);
    }
  };
  return (value) => walk(plain(value), "", 0);
}
