/** The pace of looks at threads: one a second, the oldest first, none while a message is under way. */
import { expect, test } from "vitest";
import { Probes } from "../../../services/probes.ts";
import { connectedText } from "../../../services/notices.ts";
import { ManualClock } from "../../support/wire/manual-clock.ts";

const live = new AbortController().signal;

function desk() {
  const clock = new ManualClock();
  const probes = new Probes(clock);
  const begun: string[] = [];
  const ask = (name: string, signal = live) =>
    probes.run(
      () => {
        begun.push(`${name} at ${clock.elapsedMs()}`);
        return Promise.resolve(name);
      },
      "unwanted",
      signal,
    );
  return { clock, probes, begun, ask };
}

test("one a second, the oldest first", async () => {
  const { clock, begun, ask } = desk();
  const all = Promise.all(["a", "b", "c"].map((name) => ask(name)));
  await clock.advance(5_000);
  expect(begun).toEqual(["a at 0", "b at 1000", "c at 2000"]);
  expect(await all).toEqual(["a", "b", "c"]);
});

test("none begins while a message is on its way, however long that takes", async () => {
  const { clock, probes, begun, ask } = desk();
  let end = (): void => undefined;
  const sending = probes.ahead(() => new Promise<void>((resolve) => (end = resolve)));
  void ask("a");
  await clock.advance(30_000);
  expect(begun).toEqual([]);
  end();
  await sending;
  await clock.advance(0);
  expect(begun).toEqual(["a at 30000"]);
});

test("a message that fails holds none back afterwards", async () => {
  const { clock, probes, begun, ask } = desk();
  await expect(probes.ahead(() => Promise.reject(new Error("cut")))).rejects.toThrow("cut");
  void ask("a");
  await clock.advance(0);
  expect(begun).toEqual(["a at 0"]);
});

test("deletions are made in turns with probes, one a second, whichever are more", async () => {
  const { clock, probes, begun, ask } = desk();
  for (const name of ["a", "b", "c"]) void ask(name);
  for (const name of ["x", "y", "z"])
    void probes.deletion(live).then(() => begun.push(`deletion ${name} at ${clock.elapsedMs()}`));
  await clock.advance(10_000);
  expect(begun).toEqual([
    "a at 0",
    "deletion x at 1000",
    "b at 2000",
    "deletion y at 3000",
    "c at 4000",
    "deletion z at 5000",
  ]);
});

test("Telegram's pause holds for all of them", async () => {
  const { clock, probes, begun, ask } = desk();
  probes.pause(20_000);
  void ask("a");
  void ask("b");
  await clock.advance(30_000);
  expect(begun).toEqual(["a at 20000", "b at 21000"]);
});

test("one that nobody waits for any more is not run and costs no time", async () => {
  const { clock, begun, ask } = desk();
  const given = new AbortController();
  void ask("a");
  const unwanted = ask("b", given.signal);
  void ask("c");
  given.abort();
  await clock.advance(1_000);
  expect(await unwanted).toBe("unwanted");
  expect(begun).toEqual(["a at 0", "c at 1000"]);
});

test("the connected notice names the thread, or its letter, and escapes what HTML would read", () => {
  expect(connectedText({ threadName: " A & <B> ", slot: "C" })).toBe("📡 Instance <b>A &amp; &lt;B&gt;</b> connected.");
  expect(connectedText({ threadName: "", slot: "C" })).toBe("📡 Instance <b>C</b> connected.");
  expect(connectedText({ threadName: "", slot: "" })).toBe("📡 Instance <b>?</b> connected.");
});
