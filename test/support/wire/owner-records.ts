/** The v1 owner store as one record in memory, with a writer that asks nobody. */
import { defaultOwnerTimings } from "../../../machines/owner.contract.ts";
import type { OwnerRecord, OwnerSelf } from "../../../machines/owner.rules.ts";
import type { V1Fleet } from "../../../services/ports/owner.ts";

export interface OwnerRecords {
  readonly fleet: V1Fleet;
  readonly record: () => OwnerRecord | null;
  /** What a v1 process does by force. */
  readonly overwrite: (record: OwnerRecord | null) => void;
}

export function ownerRecords(self: OwnerSelf): OwnerRecords {
  let current: OwnerRecord | null = null;
  let minted = 0;
  return {
    record: () => current,
    overwrite: (record) => {
      current = record;
    },
    fleet: {
      self,
      timings: defaultOwnerTimings,
      mintEpoch: () => `epoch-${String((minted += 1))}`,
      store: {
        read: () => Promise.resolve({ kind: "read", record: current }),
        change: (decide) => {
          const change = decide(current);
          if (change.kind !== "keep") current = change.kind === "write" ? change.record : null;
          return Promise.resolve();
        },
        commitIf: async (isOwner, commit) => isOwner(current) && (await commit()),
        setAside: () => Promise.resolve(),
        isRunning: () => true,
      },
    },
  };
}
