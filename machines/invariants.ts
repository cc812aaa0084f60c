/**
 * Every safety property as a named pure predicate over one view of the world.
 *
 * Owns: the one list of what must never be false, and which of it a world that shows some parts of the view can judge.
 * Does not own: the properties (`machines/invariants/`, by subject), how a view comes about (simulator, explorer, property
 * tests and the inspector each build it from their own world), what is bounded in time or checked by other means
 * (`invariants/bounds.ts`).
 */
import { callInvariants, deliveryInvariants } from "./invariants/delivery.ts";
import type { Invariant } from "./invariants/define.ts";
import { handoffInvariants } from "./invariants/handoff.ts";
import { leaderInvariants, leaseInvariants } from "./invariants/lease.ts";
import { queueInvariants } from "./invariants/queue.ts";
import { registrationInvariants } from "./invariants/registration.ts";
import { journalInvariants, threadStoreInvariants } from "./invariants/store.ts";
import { threadInvariants } from "./invariants/threads.ts";
import { wireInvariants } from "./invariants/wire.ts";
import type { Part, Shown, WorldView } from "./invariants/view.ts";

export type { Invariant } from "./invariants/define.ts";
export type * from "./invariants/view.ts";
export type * from "./invariants/store-view.ts";
export type * from "./invariants/threads-view.ts";
export type * from "./invariants/wire-view.ts";

export const invariants: readonly Invariant[] = [
  ...leaseInvariants,
  ...leaderInvariants,
  ...registrationInvariants,
  ...deliveryInvariants,
  ...callInvariants,
  ...threadInvariants,
  ...handoffInvariants,
  ...threadStoreInvariants,
  ...journalInvariants,
  ...queueInvariants,
  ...wireInvariants,
];

/** The invariants that a world judges which shows these parts. */
export const judgedWith = (parts: readonly Part[]): readonly Invariant[] =>
  invariants.filter(({ needs }) => needs.every((each) => parts.includes(each)));

/** Names of the properties that are false in a view with these parts. */
export function judgeOf<const Parts extends Part>(parts: readonly Parts[]): (view: Shown<Parts>) => readonly string[] {
  const judged = judgedWith(parts);
  return (shown) => {
    // What is judged looks at no other part than those shown.
    const view = shown as unknown as WorldView;
    const broken: string[] = [];
    for (const each of judged) if (!each.holds(view)) broken.push(each.name);
    return broken;
  };
}
