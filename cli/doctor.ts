/**
 * `partyline doctor`: whether the line's store can be used, and recovery of one that is damaged.
 *
 * Owns: the words, the question before anything is moved. Does not own: looking and recovering (`adapters/store/sqlite/recover.ts`).
 */
import { examineStore, recoverDamagedStore } from "../index.ts";
import type { Recovery } from "../index.ts";
import { isConfirmed } from "./confirm.ts";
import { lineOf } from "./line.ts";
import type { LineFlags } from "./options.ts";

export type DoctorFlags = LineFlags & { readonly json?: boolean; readonly recover?: boolean; readonly yes?: boolean };

function backupWords(backup: Extract<Recovery, { kind: "recovered" }>["backup"]): readonly string[] {
  if (backup === null) return ["There is no backup that could be read."];
  const minutes = Math.max(0, Math.round(backup.ageMs / 60_000));
  const age =
    minutes < 120
      ? `${String(minutes)} min`
      : minutes < 2_880
        ? `${String(Math.round(minutes / 60))} h`
        : `${String(Math.round(minutes / 1_440))} days`;
  return [
    `The backup is ${age} old. What was settled since then, and can no longer be read, may run again; threads from it are proven to exist before they are used; who is paired is not taken from it.`,
    ...(backup.isOld
      ? ["It is older than 7 days: what it has waiting may have been settled long ago. See partyline queue."]
      : []),
  ];
}

type SavedTables = Extract<Recovery, { kind: "recovered" }>["tables"];

function savedWords(tables: SavedTables): readonly string[] {
  const lines = tables
    .filter(({ rows }) => rows > 0)
    .map(({ name, rows, restored }) => {
      const from = restored > 0 ? `, ${String(restored)} of them from the backup` : "";
      return `  ${name.padEnd(20)}${String(rows)}${from}`;
    });
  return lines.length === 0 ? [] : ["Saved:", ...lines];
}

export function recoveryText(recovery: Recovery): string {
  switch (recovery.kind) {
    case "none":
      return "There is no store yet: the first instance makes it.";
    case "healthy":
      return "The store is sound: there is nothing to recover.";
    case "damaged":
    case "refused":
      return recovery.reason;
    case "inUse":
      return `Process ${String(recovery.pid)} has the store: stop all instances first. Nothing was changed.`;
    case "recovered": {
      const lossy = recovery.tables.filter(({ isWhole }) => !isWhole).map(({ name }) => name);
      const isNothingRead = recovery.tables.every(({ rows, isWhole, restored }) => !isWhole && rows <= restored);
      return [
        `The damaged files are in ${recovery.setAside}.`,
        ...(isNothingRead ? ["Nothing of them could be read."] : []),
        ...savedWords(recovery.tables),
        ...(lossy.length === 0
          ? ["Every table could be read whole."]
          : [
              ...(isNothingRead ? [] : [`Not whole, or empty for that: ${lossy.join(", ")}.`]),
              ...backupWords(recovery.backup),
            ]),
        "Start your instances: they read from the oldest that Telegram still holds.",
      ].join("\n");
    }
  }
}

/** Exit code 0: the store can be used, or there is none yet. */
export async function runDoctor(flags: DoctorFlags): Promise<number> {
  const line = lineOf(flags);
  const health = examineStore(line);
  const isWanted = flags.recover === true && health.kind === "damaged";
  if (
    isWanted &&
    !(await isConfirmed(
      "Are all instances stopped, and is the damaged store to be set aside?",
      "Recovery moves the store",
      flags.yes,
    ))
  ) {
    console.error("Nothing was changed.");
    return 1;
  }
  const outcome = isWanted ? await recoverDamagedStore(line) : health;
  console.log(flags.json === true ? JSON.stringify({ store: outcome }) : recoveryText(outcome));
  return outcome.kind === "none" || outcome.kind === "healthy" || outcome.kind === "recovered" ? 0 : 1;
}
