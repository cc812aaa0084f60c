/**
 * Pure rules of pairing: who may ask to be the one whose messages have effects, what a request costs, what its code is worth.
 *
 * Owns: the bounds (number, age, rate), the verdicts that a store carries out in one transaction. Does not own: what an
 * update of somebody unpaired leads to (`updates.rules.ts`: a counted drop), the words in Telegram.
 *
 * A first contact pairs nobody: it leaves a request, and only an operator who types its code at the machine approves it.
 */
import { fieldsOf } from "./fields.rules.ts";
import type { UpdateFacts } from "./updates.rules.ts";

/** Requests that wait for the operator at once. A further person is not answered until one of them has ended. */
export const pairingRequestsMax = 5;
/** How long a request and its code live: 15 minutes. */
export const pairingKeepMs = 15 * 60_000;
/** Whoever asks again is told the same code again, at most once a minute. */
export const pairingToldEveryMs = 60_000;

/** A person's name as kept and shown, in characters. */
const nameMax = 64;

export interface Asker {
  readonly userId: number;
  /** As they call themselves in Telegram: a hint for the operator, never proof. */
  readonly name: string;
}

export interface PairingRequest extends Asker {
  readonly code: string;
  readonly askedAtMs: number;
  readonly toldAtMs: number;
  /** The operator said no: kept until its time is over, so that the same person is not asked about again at once. */
  readonly isRejected: boolean;
}

export interface PairedUser extends Asker {
  readonly atMs: number;
}

export interface PairingView {
  /** The one person whose updates have effects where none is configured; null = nobody. */
  readonly paired: PairedUser | null;
  /** In the order in which they came; requests whose time is over may be among them. */
  readonly requests: readonly PairingRequest[];
}

const shown = (text: unknown): string => (typeof text === "string" ? text.replaceAll(/\p{C}+/gu, " ").trim() : "");

function nameOf(person: unknown): string {
  const fields = fieldsOf(person);
  const username = shown(fields?.["username"]);
  const words = [shown(fields?.["first_name"]), shown(fields?.["last_name"]), username === "" ? "" : `@${username}`];
  return words
    .filter((word) => word !== "")
    .join(" ")
    .slice(0, nameMax);
}

/** Whoever may ask by this update: a person, by a message in their own private chat. Buttons, edits and guests ask nothing. */
export function askerOf({ kind, user, chat }: UpdateFacts, update: unknown): Asker | null {
  if (kind !== "message" || user === null || chat !== user) return null;
  return { userId: user, name: nameOf(fieldsOf(fieldsOf(update)?.["message"])?.["from"]) };
}

/** A request whose code still counts. A clock that went back does not make it older. */
export const isOpenRequest = ({ askedAtMs }: PairingRequest, nowMs: number): boolean =>
  nowMs - askedAtMs < pairingKeepMs;

export type AskVerdict =
  /** There is a request with this code now; `isToBeTold` = the person has not been told of it for a while. */
  | { readonly kind: "noted"; readonly request: PairingRequest; readonly isToBeTold: boolean }
  | { readonly kind: "full" | "rejected" | "paired" };

/** What becomes of somebody who asks; `code` is the one they get if they have none. */
export function judgeAsk(
  { paired, requests }: PairingView,
  { asker, code, nowMs }: { readonly asker: Asker; readonly code: string; readonly nowMs: number },
): AskVerdict {
  if (paired !== null) return { kind: "paired" };
  const open = requests.filter((each) => isOpenRequest(each, nowMs));
  const known = open.find(({ userId }) => userId === asker.userId);
  if (known?.isRejected === true) return { kind: "rejected" };
  if (known !== undefined) {
    const isToBeTold = nowMs - known.toldAtMs >= pairingToldEveryMs;
    return { kind: "noted", isToBeTold, request: { ...known, toldAtMs: isToBeTold ? nowMs : known.toldAtMs } };
  }
  if (open.filter(({ isRejected }) => !isRejected).length >= pairingRequestsMax) return { kind: "full" };
  const request = { ...asker, code, askedAtMs: nowMs, toldAtMs: nowMs, isRejected: false };
  return { kind: "noted", isToBeTold: true, request };
}

/** The request that a code stands for; `expired` when its time is over, `missing` when there is none, or it was rejected. */
export function judgeCode(
  { requests }: PairingView,
  { code, nowMs }: { readonly code: string; readonly nowMs: number },
): { readonly kind: "good"; readonly request: PairingRequest } | { readonly kind: "missing" | "expired" } {
  const request = requests.find((each) => each.code === code && !each.isRejected);
  if (request === undefined) return { kind: "missing" };
  return isOpenRequest(request, nowMs) ? { kind: "good", request } : { kind: "expired" };
}

/** Without what is mistaken for something else when it is read out or typed: 0 and O, 1 and I and L, U and V. */
const signs = "23456789ABCDEFGHJKMNPQRSTWXYZ";
const codeLength = 8;

/** A code of 8 signs out of 29 (38 bits), in two halves, from at least 16 bytes of chance as lowercase hex. */
export function pairingCode(hex: string): string {
  const text = Array.from({ length: codeLength }, (_, at) => {
    const pair = Number.parseInt(hex.slice(4 * at, 4 * at + 4), 16);
    return signs.charAt(pair % signs.length);
  }).join("");
  return `${text.slice(0, codeLength / 2)}-${text.slice(codeLength / 2)}`;
}

/** A code as a person types it: any case, with or without the dash. */
export function readCode(text: string): string {
  const plain = text.toUpperCase().replaceAll(/[^0-9A-Z]/g, "");
  return plain.length === codeLength ? `${plain.slice(0, codeLength / 2)}-${plain.slice(codeLength / 2)}` : plain;
}

/** What an operator is told while nobody is paired. */
export const unpairedText = "nobody is paired: write to the bot, then run partyline pair CODE";

/** What the person is told who asks. */
export const pairingText = (code: string): string =>
  "This bot belongs to nobody yet. If it is yours, run this on the machine where its agents run:\n\n" +
  `partyline pair ${code}\n\nThe code holds for ${String(pairingKeepMs / 60_000)} minutes.`;
