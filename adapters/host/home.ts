/**
 * Where a bot's state lives, and which bot a token belongs to.
 *
 * Owns: the order in which the state folder is looked for, the shape of profile names and tokens.
 * Does not own: making the folder, its permissions, what lies in it.
 *
 * Invariants: one folder per bot id and profile, so two bots never share state; no message shows any part of a token.
 */
import path from "node:path";

/** What the folder depends on. */
export interface HomeSources {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The user's own folder. */
  readonly userHome: string;
  /** What relative paths start from. */
  readonly cwd: string;
}

export type Checked<Value> =
  { readonly kind: "ok"; readonly value: Value } | { readonly kind: "invalid"; readonly message: string };

export const defaultProfile = "default";

/**
 * The state folder of all bots: `explicit`, else `$PARTYLINE_HOME`, else `$XDG_STATE_HOME/partyline`, else the
 * platform's own place: `~/.local/state/partyline`, `~/Library/Application Support/partyline` on macOS,
 * `%LOCALAPPDATA%\partyline` on Windows. Empty values count as unset, and so does a relative `$XDG_STATE_HOME`
 * (XDG Base Directory Specification 0.8).
 */
export function stateHome(explicit: string | null, from: HomeSources): string {
  const at = from.platform === "win32" ? path.win32 : path.posix;
  const named = explicit || from.env["PARTYLINE_HOME"];
  if (named) return at.resolve(from.cwd, named);
  const xdg = from.env["XDG_STATE_HOME"];
  if (xdg && at.isAbsolute(xdg)) return at.join(xdg, "partyline");
  if (from.platform === "darwin") return at.join(from.userHome, "Library", "Application Support", "partyline");
  if (from.platform !== "win32") return at.join(from.userHome, ".local", "state", "partyline");
  return at.join(from.env["LOCALAPPDATA"] || at.join(from.userHome, "AppData", "Local"), "partyline");
}

/** The folder of one bot's profile: `<home>/<botId>/<profile>`. */
export function profileFolder(home: string, botId: string, profile: string, platform: NodeJS.Platform): string {
  return (platform === "win32" ? path.win32 : path.posix).join(home, botId, profile);
}

/** 1 to 32 lowercase letters and digits; `null` or `undefined` is the default profile. */
export function checkProfile(name: string | null | undefined): Checked<string> {
  if (name === null || name === undefined) return { kind: "ok", value: defaultProfile };
  if (/^[a-z0-9]{1,32}$/.test(name)) return { kind: "ok", value: name };
  const message = `The profile name ${JSON.stringify(name.slice(0, 64))} cannot be used: take 1 to 32 lowercase letters or digits.`;
  return { kind: "invalid", message };
}

/** The bot's id from its token, `<bot id>:<secret>`. Surrounding white space is the caller's to remove. */
export function botIdOf(token: string): Checked<string> {
  const parts = /^([1-9]\d{0,18}):[A-Za-z0-9_-]{30,256}$/.exec(token);
  if (parts?.[1] !== undefined) return { kind: "ok", value: parts[1] };
  const form = "It is a number, a colon and at least 30 letters, digits, - or _. Copy it again from @BotFather.";
  return { kind: "invalid", message: `${flaw(token)} ${form}` };
}

/** What is wrong with a token, without a character of it. */
function flaw(token: string): string {
  if (token === "") return "The bot token is empty.";
  if (token.trim() !== token) return "The bot token has white space around it.";
  if (/\s/.test(token)) return "The bot token has white space in it.";
  if (!token.includes(":")) return "The bot token has no colon.";
  return "This is not the shape of a bot token.";
}
