/**
 * A file that holds the bot's token.
 *
 * Owns: reading it, and what is wrong with what it holds, without a character of it. Does not own: when it is read.
 */
import { readFile } from "node:fs/promises";
import { botIdOf } from "./home.ts";

export type TokenRead =
  { readonly kind: "read"; readonly token: string } | { readonly kind: "unfit"; readonly reason: string };

/** The token that the file holds now, if it is one of the same bot as `present`: another bot has another state folder. */
export async function readTokenFile(file: string, present: string): Promise<TokenRead> {
  let token: string;
  try {
    token = (await readFile(file, "utf8")).trim();
  } catch (error) {
    return { kind: "unfit", reason: `the token file ${file} cannot be read: ${String(error)}` };
  }
  const [found, own] = [botIdOf(token), botIdOf(present)];
  if (found.kind === "invalid") return { kind: "unfit", reason: `the token file ${file}: ${found.message}` };
  return own.kind === "ok" && own.value === found.value
    ? { kind: "read", token }
    : { kind: "unfit", reason: `the token file ${file} holds the token of another bot: restart for that` };
}
