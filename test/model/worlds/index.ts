/**
 * The worlds that `npm run check` explores, with their bounds.
 *
 * Owns: which worlds there are, how far each goes by default and with `--long`. Does not own: any world.
 */
import { checkLiveness, explore } from "../../../testing/explorer/index.ts";
import type { Exploration, ExploreOptions, LivenessResult, World } from "../../../testing/explorer/index.ts";
import { leaseWorld } from "./lease.world.ts";

/** A world behind one face, whatever its environment is. */
export interface CheckedWorld {
  readonly name: string;
  run(options: ExploreOptions & { readonly long: boolean }): {
    readonly exploration: Exploration<never, never, never>;
    readonly liveness: LivenessResult | null;
  };
}

interface Bounded<Env, Seen, View> {
  readonly short: World<Env, Seen, View>;
  readonly long: World<Env, Seen, View>;
  readonly liveness: boolean;
}

function checked<Env, Seen, View>({ short, long, liveness }: Bounded<Env, Seen, View>): CheckedWorld {
  return {
    name: short.name,
    run: (options) => {
      const exploration = explore(options.long ? long : short, { ...options, asymmetric: liveness });
      return {
        // The callers read counts and hand the whole back to the explorer; they never look into env, seen or view.
        exploration: exploration as unknown as Exploration<never, never, never>,
        liveness: liveness && exploration.exhaustive ? checkLiveness(exploration) : null,
      };
    },
  };
}

const nothing = { crashes: 0, restarts: 0, pauses: 0, losses: 0, releases: 0, writes: 0 };

const safety = (name: string, short: Parameters<typeof leaseWorld>[0], long: Parameters<typeof leaseWorld>[0]) =>
  checked({
    short: leaseWorld(short, undefined, name),
    long: leaseWorld(long, undefined, name),
    liveness: false,
  });

/** Three stand for one lease; two go through each kind of fault; two must come to a leader once faults have stopped. */
export const worlds: readonly CheckedWorld[] = [
  safety(
    "lease/three",
    { ...nothing, instances: 3, epochs: 2, renewals: 1, crashes: 1 },
    { ...nothing, instances: 3, epochs: 2, renewals: 2, crashes: 1, pauses: 1 },
  ),
  safety(
    "lease/restart",
    { ...nothing, instances: 2, epochs: 2, renewals: 1, crashes: 1, restarts: 1 },
    { ...nothing, instances: 2, epochs: 2, renewals: 1, crashes: 1, restarts: 1, losses: 1 },
  ),
  safety(
    "lease/losses",
    { ...nothing, instances: 2, epochs: 2, renewals: 1, pauses: 1, losses: 1 },
    { ...nothing, instances: 2, epochs: 3, renewals: 1, pauses: 1, losses: 1 },
  ),
  safety(
    "lease/releases",
    { ...nothing, instances: 2, epochs: 2, renewals: 1, losses: 1, releases: 2 },
    { ...nothing, instances: 2, epochs: 3, renewals: 1, losses: 1, releases: 2 },
  ),
  safety(
    "lease/writes",
    { ...nothing, instances: 2, epochs: 2, renewals: 1, pauses: 1, writes: 1 },
    { ...nothing, instances: 2, epochs: 3, renewals: 1, pauses: 1, writes: 2 },
  ),
  checked({
    short: leaseWorld({ ...nothing, instances: 2, epochs: 2, renewals: 1, crashes: 1 }, undefined, "lease/liveness"),
    long: leaseWorld(
      { ...nothing, instances: 2, epochs: 3, renewals: 1, crashes: 1, pauses: 1 },
      undefined,
      "lease/liveness",
    ),
    liveness: true,
  }),
];
