/**
 * Seeded identities: the `Ids` port of one process.
 *
 * Owns: minting. Does not own: what identities mean.
 * Invariant: what is minted is unique over the whole simulation, because the process id is in it.
 */
import { createHash } from "node:crypto";
import { acquisitionId, generation, instanceId } from "../../machines/ids.ts";
import type { Ids } from "../../services/ports.ts";
import type { Random } from "./random.ts";

export function createIds(pid: number, random: Random): Ids {
  let minted = 0;
  const mint = (kind: string) => {
    minted += 1;
    return `${kind}-${pid}-${minted}`;
  };
  return {
    instanceId: (ownPid, nowMs) => instanceId(`${ownPid}:${nowMs}`),
    generation: () => generation(mint("generation")),
    acquisition: () => acquisitionId(mint("acquisition")),
    secret: () => mint("secret"),
    requestId: () => mint("request"),
    chance: () => random.next(),
    sha256Hex: (text) => createHash("sha256").update(text, "utf8").digest("hex"),
  };
}
