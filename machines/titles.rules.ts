/**
 * An agent's wish for its thread's title, against the user's: a name that a person gave stays for good.
 *
 * Owns: what is left of such a call. Does not own: when it is made (`services/titles.ts`). Pure.
 */
import type { ApiCall } from "./calls.rules.ts";
import type { Observation } from "./reconciliation.types.ts";

/** What is known of the thread's name. */
export interface KnownTitle {
  /** The name as last seen; null = unknown. */
  readonly name: string | null;
  readonly isNamedByPerson: Observation["isNamedByPerson"];
}

export const isTitleCall = ({ method, body }: ApiCall): boolean =>
  method.toLowerCase() === "editforumtopic" && body["name"] !== undefined;

/** The call that is to be made; null = nothing would change that may be changed. */
export function titleCallAgainst(call: ApiCall, known: KnownTitle): ApiCall | null {
  const { name, ...rest } = call.body;
  if (!known.isNamedByPerson && name !== known.name) return call;
  return rest["icon_custom_emoji_id"] === undefined ? null : { method: call.method, body: rest };
}
