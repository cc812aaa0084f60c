/** The beginning of stories about a leader and a follower. */
import type { CrashWorld } from "../../../testing/simulator/crash-world.ts";

export const minuteMs = 60_000;

/** L leads, F follows it, and each has its thread. */
export async function bothJoin(world: CrashWorld): Promise<void> {
  world.boot("L");
  await world.until(() => world.has("L"), minuteMs);
  world.boot("F");
  if (!(await world.until(() => world.has("F"), minuteMs))) throw new Error("the two did not join");
}
