/** Values that tests of the owner record share: a v1 owner, ourselves, and looks at them. */
import type { OwnerRecord, OwnerSelf, OwnerSight, OwnerState } from "../../../machines/owner.rules.ts";
import { me, record } from "./samples.ts";

export const ownSelf: OwnerSelf = {
  pid: 100,
  cwd: "/srv/one",
  instanceId: me,
  runtimeGeneration: 500,
  secret: "own-secret",
};

/** A record as a v1 peer writes it. */
export const ownerRecord = (differs: Partial<OwnerRecord> = {}): OwnerRecord => ({
  pid: 700,
  cwd: "/srv/v1",
  instanceId: "700:1",
  leaderEpoch: "8e0f0e34-0000-4000-8000-000000000001",
  runtimeGeneration: 7,
  heartbeatMs: 100,
  busSecret: "v1-secret",
  busSocketPath: null,
  ...differs,
});

/** What a look showed: that record, held, unless told otherwise. */
export const sight = (
  state: OwnerState = "held",
  differs: Partial<Extract<OwnerSight, { readonly kind: "seen" }>> = {},
): OwnerSight => ({
  kind: "seen",
  record: state === "inactive" ? null : ownerRecord(),
  state,
  lease: record({ holder: null }),
  isPreceded: false,
  ...differs,
});
