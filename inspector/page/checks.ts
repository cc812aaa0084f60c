/**
 * The invariants, judged from what the page knows.
 *
 * Owns: the view of the world that frames allow. Does not own: the properties (`machines/invariants.ts`).
 *
 * What no frame tells (earlier grants, every write, every settlement) stays empty: those properties are judged by whoever
 * recorded a verdict, and count as unbroken here.
 */
import { epoch, generation, instanceId, seatKey } from "../../machines/ids.ts";
import { invariants } from "../../machines/invariants.ts";
import type { InstanceView, Invariant, WorldView } from "../../machines/invariants.ts";
import type { State } from "./model.ts";
import { valueText } from "./model.ts";

const fieldOf = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;

function instanceOf(state: State, id: string): InstanceView {
  const find = (suffix: string) =>
    [...state.actors.values()].find((actor) => actor.id === `${id}${suffix}` && actor.status === "active");
  const [own, lease, membership] = [find(""), find("/lease"), find("/membership")];
  const isIn = (actor: typeof own, part: string): boolean => valueText(actor?.value).includes(part);
  const epochIn = (actor: typeof own) => epoch(Number(fieldOf(actor?.context, "epoch") ?? 0));
  return {
    id: instanceId(id),
    alive: own !== undefined,
    holds: isIn(lease, "holding") ? epochIn(lease) : null,
    leadsUnder: isIn(own, "leading") ? epochIn(own) : null,
    polls: false,
    registered: isIn(membership, "registered")
      ? {
          seat: seatKey(String(fieldOf(membership?.context, "seat"))),
          generation: generation(String(fieldOf(membership?.context, "generation"))),
        }
      : null,
  };
}

export function judge(
  state: State,
): readonly { readonly it: Invariant; readonly isBroken: boolean; readonly isSeen: boolean }[] {
  const lease = fieldOf(state.line, "leader");
  const ids = [...state.sources.values()].filter((source) => !source.isGone).map((source) => source.id);
  const world: WorldView = {
    lease: {
      epoch: epoch(Number(fieldOf(state.line, "epoch") ?? 0)),
      holder:
        typeof fieldOf(lease, "instanceId") === "string" ? instanceId(String(fieldOf(lease, "instanceId"))) : null,
    },
    instances: ids.map((id) => instanceOf(state, id)),
    seats: [],
    updates: [],
    owner: null,
    ghost: { grants: [], writes: [], ownConflicts: 0 },
  };
  return invariants.map((it) => {
    const isSeen = it.name === "lease/oneHolderPerEpoch";
    return { it, isSeen, isBroken: state.broken.includes(it.name) || (isSeen && !it.holds(world)) };
  });
}
