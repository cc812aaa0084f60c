import fc from "fast-check";
import { expect, test } from "vitest";
import { LineSplitter } from "../../../adapters/transport/wire/line-splitter.ts";

const feed = (splitter: LineSplitter, chunks: readonly Buffer[]) => chunks.map((chunk) => splitter.push(chunk));

test("protocol/W-1, W-4, W-13: however a stream is cut into chunks, the same lines come out, and no unfinished one", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("a", "\n", "é", "漢", "👍", "\r", '"'), maxLength: 60 }),
      fc.array(fc.nat(200), { maxLength: 20 }),
      (text, cuts) => {
        const bytes = Buffer.from(text);
        const ends = [...new Set([...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length])].sort(
          (a, b) => a - b,
        );
        const chunks = ends
          .map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
          .filter((chunk) => chunk.length > 0);
        const splitter = new LineSplitter(1024);
        const expected = text.split("\n").slice(0, -1);
        expect(feed(splitter, chunks).flat()).toEqual(expected);
        expect(splitter.isMidLine).toBe(!text.endsWith("\n") && text !== "");
      },
    ),
  );
});

test("protocol/W-5: an empty line is a line", () => {
  expect(new LineSplitter(10).push(Buffer.from("\n\n"))).toEqual(["", ""]);
});

test("protocol/O-24: a line of exactly the maximum passes, a longer one does not, in one chunk or many", () => {
  const line = (length: number) => Buffer.from(`${"x".repeat(length)}\n`);
  expect(new LineSplitter(10).push(line(10))).toEqual(["x".repeat(10)]);
  expect(new LineSplitter(10).push(line(11))).toBeNull();
  const bytes = (text: string) => Array.from(text, (each) => Buffer.from(each));
  expect(feed(new LineSplitter(10), bytes(`${"x".repeat(10)}\n`)).at(-1)).toEqual(["x".repeat(10)]);
  expect(feed(new LineSplitter(10), bytes("x".repeat(11))).at(-1)).toBeNull();
  expect(new LineSplitter(10).push(Buffer.from(`a\n${"x".repeat(11)}\nb\n`))).toBeNull();
});

test("protocol/O-24: a line that comes byte by byte is whole", () => {
  const splitter = new LineSplitter(10_000);
  for (let index = 0; index < 5000; index += 1) splitter.push(Buffer.from("y"));
  expect(splitter.push(Buffer.from("\n"))).toEqual(["y".repeat(5000)]);
});
