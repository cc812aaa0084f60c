/** Records by their thread. */
import { expect, it } from "vitest";
import { chatId, threadId } from "../../../machines/ids.ts";
import { ThreadMap } from "../../../machines/thread-map.ts";

const target = (chat: number, thread: number) => ({ chatId: chatId(chat), threadId: threadId(thread) });

it("finds a record by chat and thread together, the last of several, and none that is left out", () => {
  const records = [
    { target: target(1, 7), name: "a" },
    { target: target(2, 7), name: "b" },
    { target: target(1, 7), name: "c" },
    { target: target(1, 8), name: "left out" },
  ];
  const map = ThreadMap.of(records, (each) => (each.name === "left out" ? null : each.target));
  expect(map.get(target(1, 7))?.name).toBe("c");
  expect(map.get(target(2, 7))?.name).toBe("b");
  expect([map.has(target(1, 7)), map.has(target(1, 8)), map.has(target(3, 7))]).toEqual([true, false, false]);
});
