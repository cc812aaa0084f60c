/**
 * The owner store of a fleet that is led by somebody else, whatever happens: what an instance of ours reads there when it is
 * pointed at a foreign leader by hand. It never takes the lead from anybody.
 */
import type { OwnerRecord } from "../../../machines/owner.rules.ts";
import type { OwnerStore } from "../../../services/ports/owner.ts";

export function foreignOwner(at: { readonly endpoint: string; readonly secret: string }): OwnerStore {
  const record: OwnerRecord = {
    // Nobody's: who serves there is not known here, and nothing is decided by it.
    pid: 0,
    cwd: null,
    instanceId: "foreign:leader",
    leaderEpoch: "foreign",
    runtimeGeneration: null,
    heartbeatMs: null,
    busSecret: at.secret,
    busSocketPath: at.endpoint,
  };
  const notOurs = new Error("the leader's record is not ours to change");
  return {
    read: () => Promise.resolve({ kind: "read", record }),
    change: () => Promise.reject(notOurs),
    commitIf: () => Promise.resolve(false),
    setAside: () => Promise.reject(notOurs),
    isRunning: () => true,
  };
}
