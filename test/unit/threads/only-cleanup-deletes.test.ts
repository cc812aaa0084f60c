/** Who asks Telegram to close or delete threads. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const folders = ["services/", "machines/", "adapters/store/", "adapters/grammy/", "adapters/transport/"];
const root = new URL("../../../", import.meta.url);

const sourcesIn = (folder: string): readonly string[] =>
  readdirSync(new URL(folder, root), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${folder}${name}`);

it("threads/T-41: one service alone calls closeForumTopic and deleteForumTopic, and one table lets instances ask for them", () => {
  const naming = folders
    .flatMap(sourcesIn)
    .filter((file) => /"(close|delete)ForumTopic"/.test(readFileSync(new URL(file, root), "utf8")));
  expect(naming.sort()).toEqual(["machines/calls.rules.ts", "services/cleanup.ts"]);
});
