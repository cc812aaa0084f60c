/**
 * Text forms of a process's birth identity.
 *
 * Owns: our own form, `<bootId>,<pidNamespace>,<pid>,<startTicks>,<counter>`, which keeps every field, and the v1 birth
 * id, `<pid>:start:<startTicks>` or `<pid>:generation:<fallback>` (protocol v1, registration and queue owners).
 * Does not own: reading the process table, or any verdict about life and death (`Processes` port).
 *
 * Invariants: reading back what was written gives the same incarnation; a text that is not exactly of the form is
 * `null`, never a guess; a `generation:` birth id proves nothing, so it yields no start.
 */
import type { Incarnation } from "./ids.ts";

/** What an incarnation holds where a fact is not known. Two unknown facts are not "equal": they prove nothing. */
export const unknownFact = "";

const fieldForm = /^[A-Za-z0-9._-]{0,128}$/;
const textForm = /^([A-Za-z0-9._-]{0,128}),([A-Za-z0-9._-]{0,128}),(\d{1,16}),([A-Za-z0-9._-]{0,128}),(\d{1,16})$/;
const birthIdForm = /^(\d{1,16}):(start|generation):(.{1,256})$/s;

/** `<bootId>,<pidNamespace>,<pid>,<startTicks>,<counter>`. Throws on a field that the form cannot carry. */
export function incarnationText(who: Incarnation): string {
  for (const field of [who.bootId, who.pidNamespace, who.startTicks]) {
    if (!fieldForm.test(field)) throw new Error(`An incarnation cannot hold ${JSON.stringify(field)}.`);
  }
  for (const count of [who.pid, who.counter]) {
    if (!Number.isSafeInteger(count) || count < 0) throw new Error(`An incarnation cannot count ${count}.`);
  }
  return [who.bootId, who.pidNamespace, who.pid, who.startTicks, who.counter].join(",");
}

/** The inverse of `incarnationText`; `null` for anything else. */
export function parseIncarnation(text: string): Incarnation | null {
  const parts = textForm.exec(text);
  if (parts === null) return null;
  const [, bootId = "", pidNamespace = "", pid = "", startTicks = "", counter = ""] = parts;
  const who = { bootId, pidNamespace, pid: Number(pid), startTicks, counter: Number(counter) };
  return Number.isSafeInteger(who.pid) && Number.isSafeInteger(who.counter) ? who : null;
}

/**
 * The v1 birth id of an incarnation. Where its start is not known the id is `<pid>:generation:<fallback>`: the instance
 * id for the process itself, the creation time for a seat's owner (protocol v1).
 */
export function birthId(who: Incarnation, fallback: string): string {
  return who.startTicks === unknownFact ? `${who.pid}:generation:${fallback}` : `${who.pid}:start:${who.startTicks}`;
}

/** Reads a v1 birth id. `startTicks` is empty for `generation:` ids; `null` when the text is no birth id. */
export function parseBirthId(text: string): { readonly pid: number; readonly startTicks: string } | null {
  const parts = birthIdForm.exec(text);
  if (parts === null) return null;
  const [, digits = "", kind = "", evidence = ""] = parts;
  const pid = Number(digits);
  if (!Number.isSafeInteger(pid)) return null;
  if (kind === "generation") return { pid, startTicks: unknownFact };
  return fieldForm.test(evidence) ? { pid, startTicks: evidence } : null;
}

/**
 * The incarnation behind a v1 birth id, for a peer that is known to run on this host. The boot is unknown, and so is
 * the pid namespace unless the caller vouches for it (a v1 peer does not say): without it nothing can be proven.
 */
export function foreignIncarnation(text: string, pidNamespace: string): Incarnation | null {
  const birth = parseBirthId(text);
  return birth === null ? null : { ...birth, bootId: unknownFact, pidNamespace, counter: 0 };
}
