/**
 * The role an instance plays, read off the state of its chart.
 *
 * Owns: the words for roles. Does not own: the chart; a state that is missing here would be called `stopped`, so a test
 * goes through them all.
 */

export type Role = "starting" | "seeking" | "electing" | "follower" | "leader" | "classic" | "stopping" | "stopped";

/** Which role a state of the chart is, for everyone outside it. */
export function roleOf(snapshot: { readonly matches: (state: RoleState) => boolean }): Role {
  const role = roleStates.find(([state]) => snapshot.matches(state));
  return role === undefined ? "stopped" : role[1];
}

type LeadingState = "activating" | "bus" | "classic" | "leaving" | "parting" | "givingUp" | "stopping";

type RoleState =
  | "starting"
  | "draining"
  | "closing"
  | {
      readonly online:
        | "seeking"
        | "electing"
        | "disowning"
        | "releasing"
        | { readonly following: "joining" | "joined" | "leaving" }
        | { readonly leading: LeadingState };
    };

const roleStates: readonly (readonly [RoleState, Role])[] = [
  ["starting", "starting"],
  [{ online: "seeking" }, "seeking"],
  [{ online: "electing" }, "electing"],
  [{ online: { following: "joining" } }, "follower"],
  [{ online: { following: "joined" } }, "follower"],
  [{ online: { leading: "activating" } }, "leader"],
  [{ online: { leading: "bus" } }, "leader"],
  [{ online: { leading: "classic" } }, "classic"],
  [{ online: { following: "leaving" } }, "stopping"],
  [{ online: { leading: "leaving" } }, "stopping"],
  [{ online: { leading: "parting" } }, "stopping"],
  [{ online: { leading: "givingUp" } }, "stopping"],
  [{ online: "disowning" }, "stopping"],
  [{ online: { leading: "stopping" } }, "stopping"],
  [{ online: "releasing" }, "stopping"],
  ["draining", "stopping"],
  ["closing", "stopping"],
];
