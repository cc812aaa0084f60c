/**
 * Transitions that no test can take, each with the reason. Anything else that is not taken fails its chart's test; so does
 * an entry that a test takes after all, or that names nothing.
 */
export const unreached: Readonly<Record<string, Readonly<Record<string, string>>>> = {};
