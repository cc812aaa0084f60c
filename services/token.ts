/**
 * The bot's token while Telegram rejects it.
 *
 * Owns: having it read again, telling whoever waits for another one, what calls are told meanwhile. Does not own: when it is read
 * again (the charts that met the rejection, an operator's signal), where it comes from (the Telegram client).
 */
import { fromCallback, fromPromise } from "xstate";
import { healthOf } from "./polling-notes.ts";
import type { CallOutcome } from "./ports.ts";
import type { Runtime } from "./runtime.ts";

/** Reads the token again, where it comes from a file; whoever waits for another one asks Telegram at once. */
export async function renewToken(runtime: Runtime): Promise<"changed" | "same"> {
  const outcome = await runtime.ports.telegram.renewToken();
  if (outcome === "changed") {
    runtime.ports.stage.log.event("warn", "token-renewed", {});
    runtime.onTokenRenewed.fire();
  }
  return outcome;
}

export const provideTokenRenewal = (runtime: Runtime) =>
  fromPromise<undefined>(async () => {
    await renewToken(runtime);
    return undefined;
  });

export const provideTokenWatch = (runtime: Runtime) =>
  fromCallback<{ readonly type: "never" }>(({ sendBack }) =>
    runtime.onTokenRenewed.listen(() => {
      sendBack({ type: "token.renewed" });
    }),
  );

/** Telegram's own words, as it would answer the call. */
const unauthorized: CallOutcome = { kind: "rejected", error: { error_code: 401, description: "Unauthorized" } };

/**
 * What a call that finds no leader comes to at once: the one that leads does not get as far as answering because Telegram rejects
 * its token. Null = it may wait. A note that cannot be read says nothing.
 */
export async function rejectionOf(runtime: Runtime): Promise<CallOutcome | null> {
  try {
    const health = await runtime.ports.store.status.presentHealth();
    return health === healthOf.unauthorized ? unauthorized : null;
  } catch (error) {
    runtime.ports.stage.log.event("debug", "polling-note-not-read", { reason: String(error) });
    return null;
  }
}
