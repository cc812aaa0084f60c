/** The copy of the store that a recovery falls back on. */

/**
 * `recent`: the last one is younger than was asked for, and stays. `failed`: the last one stays as it was; `reason` is for the log.
 */
export type BackupOutcome =
  | { readonly kind: "taken"; readonly generation: number }
  | { readonly kind: "recent" }
  | { readonly kind: "failed"; readonly reason: string };

export interface Backups {
  /**
   * Replaces the backup by a consistent copy of the store as it is now, unless the last is younger than `notBeforeMs`
   * milliseconds. Resolves after the copy is checked, on disk and in its place. Writers are not held up. Never rejects.
   */
  take(notBeforeMs: number): Promise<BackupOutcome>;
}
