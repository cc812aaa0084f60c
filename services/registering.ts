/**
 * Registering at a leader: the request that is sent.
 *
 * Owns: its words on the wire. Does not own: when to register, the connection, what an answer means (`acks.rules.ts`).
 */
import type { Generation } from "../machines/ids.ts";
import { birthId } from "../machines/incarnation.rules.ts";
import type { RegisterInput } from "../machines/membership.machine.ts";
import type { Dialect } from "../machines/lease.rules.ts";
import { capability } from "../machines/wire/constants.ts";
import type { ProtocolIdentity } from "../machines/wire/constants.ts";
import type { RegisterRequest } from "../machines/wire/envelopes.ts";
import type { Runtime, Settings } from "./runtime.ts";

export function registerRequest(
  { settings, ports, board }: Runtime,
  input: RegisterInput,
  attempt: { readonly generation: Generation; readonly address: string },
): RegisterRequest {
  const known = board.lastThread;
  const threadName = known?.threadName ?? settings.name;
  return {
    kind: "follower.register",
    requestId: attempt.generation,
    auth: input.leader.secret,
    registration: {
      instanceId: settings.me,
      profileKey: input.seat,
      ...(threadName === null || threadName === "" ? {} : { threadName }),
      ...(ports.v1 === null ? {} : { cwd: ports.v1.self.cwd }),
      pid: settings.incarnation.pid,
      processBirthId: birthId(settings.incarnation, settings.me),
      sessionGeneration: 1,
      ...(known === null ? {} : { target: known.target }),
      // One letter is all that the wire knows; two are among our own peers.
      ...(known === null || known.slot === "" ? {} : { slot: known.slot }),
      busSocketPath: attempt.address,
      registrationGeneration: attempt.generation,
      protocol: identityFor(settings, input.leader.dialect),
      connectedAtMs: ports.stage.clock.nowMs(),
    },
  };
}

/** Who we say we are: a v1 leader's journal is foreign to our handoffs, so they are not offered to it. */
export function identityFor({ identity }: Settings, dialect: Dialect): ProtocolIdentity {
  if (dialect === "own") return identity;
  return { ...identity, capabilities: identity.capabilities.filter((each) => each !== capability.queueHandoff) };
}
