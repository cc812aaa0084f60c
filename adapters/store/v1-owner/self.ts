/**
 * What an instance calls itself in the v1 owner store (protocol §5.1).
 *
 * Owns: the runtime generation, ascending within this process. Does not own: the secret, the instance id.
 */
import process from "node:process";
import type { InstanceId } from "../../../machines/ids.ts";
import type { OwnerSelf } from "../../../machines/owner.rules.ts";

const generationKey = Symbol.for("partyline.v1.runtime-generation");

/**
 * `max(clock, previous + 1)`. On the global object, because a process may load this file twice (two versions of the
 * package, a bundle beside the source), and the newer runtime must be the one with the higher number (P-9).
 */
function nextRuntimeGeneration(nowMs: number): number {
  const last: unknown = Reflect.get(globalThis, generationKey);
  const next = Math.max(Math.floor(nowMs), typeof last === "number" ? last + 1 : 0);
  Reflect.set(globalThis, generationKey, next);
  return next;
}

export const ownerSelf = (me: {
  readonly instanceId: InstanceId;
  readonly secret: string;
  readonly nowMs: number;
}): OwnerSelf => ({
  pid: process.pid,
  cwd: process.cwd(),
  instanceId: me.instanceId,
  runtimeGeneration: nextRuntimeGeneration(me.nowMs),
  secret: me.secret,
});
