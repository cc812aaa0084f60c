/**
 * Every port: what the services ask of the outside, and what they may rely on.
 *
 * Owns: the contracts. Does not own: any implementation (`adapters/`), any decision (`machines/`).
 *
 * Rules that hold for all of them:
 * - Expected failures are data, tagged by `kind`. A rejected promise means that the operation was not observed: a busy
 *   store, a broken disk. It is never read as an answer.
 * - Everything that leads writes under its epoch, and the store compares that epoch *inside the same transaction*:
 *   `fenced` when it is not the current one, and then nothing was written.
 * - "Resolves" on a store write means: the change is on disk and survives power loss.
 */
export type { BegunProvision, Binding, PendingProvision } from "../machines/threads.rules.ts";
export type * from "./ports/backup.ts";
export type * from "./ports/cleanups.ts";
export type * from "./ports/dead-letters.ts";
export type * from "./ports/fence.ts";
export type * from "./ports/host.ts";
export type * from "./ports/journal.ts";
export type * from "./ports/lease.ts";
export type * from "./ports/pairing.ts";
export type * from "./ports/queue.ts";
export type * from "./ports/seats.ts";
export type * from "./ports/status.ts";
export type * from "./ports/store.ts";
export type * from "./ports/threads.ts";
export type * from "./ports/transport.ts";
export type * from "./ports/work.ts";
export * from "./ports/telegram.ts";
