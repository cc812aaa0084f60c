/**
 * Transitions that no test can take, each with the reason. Anything else that is not taken fails its chart's test; so does
 * an entry that a test takes after all, or that names nothing.
 */
export const unreached: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  registration: {
    "(any) on follower.disconnect [0] → stays":
      "every state in which somebody sits answers a farewell itself; where this is asked, nobody sits",
  },
};
