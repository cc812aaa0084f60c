/** The doctor on the command line: what it says, when it asks, its exit codes. */
import { truncateSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { recoveryText, runDoctor } from "../../../cli/doctor.ts";
import type { DoctorFlags } from "../../../cli/doctor.ts";
import { openLine, stateFolder } from "../../../index.ts";
import { openOrThrow, inTemporaryFolder } from "../store/on-disk.ts";

const token = "700001:emulator-token-for-local-use-only";

/** A line that has run once, in a home of its own, and what a run of the doctor on it says. */
async function withLine(body: (line: ReturnType<typeof of>) => Promise<void>): Promise<void> {
  await inTemporaryFolder(async (home) => {
    await (await openOrThrow(stateFolder({ token, home }))).close();
    await body(of(home));
  });
}

function of(home: string) {
  const said: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((text: string) => void said.push(text));
  onTestFinished(() => {
    log.mockRestore();
  });
  return {
    line: { token, home },
    file: path.join(stateFolder({ token, home }), "store.db"),
    run: async (flags: Partial<DoctorFlags> = {}) => {
      said.length = 0;
      const code = await runDoctor({ token, home, logLevel: "warn", ...flags });
      return { code, said: said.join("\n") };
    },
  };
}

test("a sound store is said to be one, and there is nothing to recover", async () => {
  await withLine(async ({ run }) => {
    expect(await run()).toEqual({ code: 0, said: expect.stringContaining("sound") as string });
    expect(await run({ json: true, recover: true })).toEqual({ code: 0, said: '{"store":{"kind":"healthy"}}' });
  });
});

test("a damaged one is told with the remedy, recovered only when that is wanted, and can be used then", async () => {
  await withLine(async ({ run, file, line }) => {
    truncateSync(file, 0);
    expect(await run()).toEqual({ code: 1, said: expect.stringContaining("partyline doctor --recover") as string });
    expect(JSON.parse((await run({ json: true })).said)).toMatchObject({ store: { kind: "damaged" } });
    // Nobody can be asked here.
    await expect(run({ recover: true })).rejects.toThrow("pass --yes");
    await expect(openLine(line)).rejects.toThrow("is damaged");
    const { code, said } = await run({ recover: true, yes: true, json: true });
    expect([code, JSON.parse(said)]).toMatchObject([0, { store: { kind: "recovered" } }]);
    await (await openLine(line)).close();
  });
});

test("of an empty file it says in one sentence that nothing could be read, and lists no tables", async () => {
  await withLine(async ({ run, file }) => {
    truncateSync(file, 0);
    const { said } = await run({ recover: true, yes: true });
    expect(said.split("\n")).toEqual([
      expect.stringMatching(/^The damaged files are in /),
      "Nothing of them could be read.",
      "There is no backup that could be read.",
      "Start your instances: they read from the oldest that Telegram still holds.",
    ]);
  });
});

test("a line that never ran here has no store to look at", async () => {
  await inTemporaryFolder(async (home) => {
    await expect(of(home).run()).rejects.toThrow("No instance of this bot and profile has run here");
  });
});

test("the age of a backup is told in minutes, hours or days", () => {
  const table = { name: "updates", rows: 5, isWhole: false, restored: 2 };
  const minuteMs = 60_000;
  for (const [minutes, words] of [
    [-5, "0 min"],
    [119, "119 min"],
    [120, "2 h"],
    [2_879, "48 h"],
    [2_880, "2 days"],
  ] as const) {
    const backup = { ageMs: minutes * minuteMs, isOld: false };
    const text = recoveryText({ kind: "recovered", setAside: "x", tables: [table], backup });
    expect(text).toContain(`The backup is ${words} old.`);
    expect(text).not.toContain("Nothing of them could be read.");
  }
});

test("that nothing could be read is said only when nothing was", () => {
  const said = (rows: number, isWhole: boolean, restored: number) =>
    recoveryText({
      kind: "recovered",
      setAside: "x",
      tables: [{ name: "updates", rows, isWhole, restored }],
      backup: null,
    });
  const words = "Nothing of them could be read.";
  expect(said(2, false, 2)).toContain(words);
  expect(said(0, true, 0)).not.toContain(words);
  expect(said(3, false, 2)).not.toContain(words);
});
