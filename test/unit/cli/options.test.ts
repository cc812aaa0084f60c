import { Command } from "commander";
import { expect, test } from "vitest";
import { defaultOf } from "../../../cli/options.ts";

/** What a group of commands with a default one does with these words: the name of what ran, or the error it told. */
function outcomeOf(...words: readonly string[]): string {
  let outcome = "";
  const program = new Command("line").exitOverride().configureOutput({
    writeErr: (text) => {
      outcome += text.trim();
    },
  });
  const group = program.command("threads");
  defaultOf(group, "list")
    .option("--json")
    .action(() => {
      outcome = "list";
    });
  group
    .command("adopt")
    .argument("<seat>")
    .action((seat: string) => {
      outcome = `adopt ${seat}`;
    });
  try {
    program.parse(["threads", ...words], { from: "user" });
  } catch (error) {
    if (outcome === "") throw error;
  }
  return outcome;
}

test.each([
  [[], "list"],
  [["--json"], "list"],
  [["list", "--json"], "list"],
  [["adopt", "a"], "adopt a"],
  [["bogus"], "error: unknown command 'bogus' for 'threads'; there are: list, adopt"],
  [["bogus", "--json", "more"], "error: unknown command 'bogus' for 'threads'; there are: list, adopt"],
  [["list", "bogus"], "error: 'threads list' takes no argument 'bogus'"],
])("of a group of commands, %j: %s", (words, outcome) => {
  expect(outcomeOf(...words)).toBe(outcome);
});
