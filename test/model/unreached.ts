/**
 * States and transitions that no world reaches, each with the reason why that is right.
 *
 * Names are those of the uncovered report. An entry that a world does reach is stale, and fails the run as well.
 */
export const unreached: ReadonlyMap<string, string> = new Map([]);
