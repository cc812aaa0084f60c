/** A token read again from its file: what it may hold, and what is said of it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readTokenFile } from "../../../adapters/host/token-file.ts";

const old = `700001:${"A".repeat(35)}`;
const fresh = `700001:${"B".repeat(35)}`;
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "pl-token-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function fileWith(text: string): string {
  const file = path.join(folder, "token");
  writeFileSync(file, text);
  return file;
}

test("C14 another token of the same bot is taken, white space around it left out", async () => {
  expect(await readTokenFile(fileWith(`\n ${fresh}\r\n`), old)).toEqual({ kind: "read", token: fresh });
});

test.each([
  ["nothing", "", "is empty"],
  ["half a token", fresh.slice(0, 12), "not the shape"],
  ["the token of another bot", `700002:${"B".repeat(35)}`, "another bot"],
])("%s is not taken, and not a character of it is told", async (_, text, words) => {
  const read = await readTokenFile(fileWith(text), old);
  expect(read).toMatchObject({ kind: "unfit", reason: expect.stringContaining(words) as string });
  if (text !== "") expect(JSON.stringify(read)).not.toContain(text);
});

test("a file that is gone is said to be", async () => {
  const read = await readTokenFile(path.join(folder, "none"), old);
  expect(read).toMatchObject({ kind: "unfit", reason: expect.stringContaining("cannot be read") as string });
});
