/**
 * `partyline pair`: who may write to the bot where no user is configured.
 *
 * Owns: the words, exit codes. Does not own: carrying it out (`services/pairing-desk.ts`, in the store).
 */
import { systemClock } from "../adapters/host/clock.ts";
import { openPairing } from "../index.ts";
import type { Pairing, PairingReply, PairingState } from "../index.ts";
import { closing, lineOf } from "./line.ts";
import type { LineFlags } from "./options.ts";

export type PairFlags = LineFlags & { readonly json?: boolean };

export const nameOf = ({ name, userId }: { readonly name: string; readonly userId: number }): string =>
  name === "" ? `user ${String(userId)}` : `${name} (user ${String(userId)})`;

const minutes = (ms: number): string => `${String(Math.max(1, Math.ceil(ms / 60_000)))} min`;

export function pairingText({ paired, requests }: PairingState, nowMs: number): string {
  return [
    paired === null ? "paired    nobody" : `paired    ${nameOf(paired)}`,
    ...(requests.length === 0 ? ["asking    nobody"] : ["asking"]),
    ...requests.map(
      (each) =>
        `  ${each.code}   ${nameOf(each)}, asked ${minutes(nowMs - each.askedAtMs)} ago, ends in ${minutes(each.endsAtMs - nowMs)}`,
    ),
  ].join("\n");
}

const withPairing = (flags: PairFlags, use: (pairing: Pairing) => Promise<number>): Promise<number> =>
  closing(openPairing(lineOf(flags)), use);

export const listPairing = (flags: PairFlags): Promise<number> =>
  withPairing(flags, async (pairing) => {
    const state = await pairing.state();
    console.log(flags.json === true ? JSON.stringify(state) : pairingText(state, systemClock().nowMs()));
    return 0;
  });

function sentence(reply: PairingReply): string {
  switch (reply.kind) {
    case "approved":
      return `Paired: ${nameOf(reply.user)} may write to the bot from now on.`;
    case "rejected":
      return `Rejected: ${nameOf(reply.user)} is not answered for a while.`;
    case "revoked":
      return `Revoked: nothing that ${nameOf(reply.user)} writes has an effect any more.`;
    case "expired":
      return "Nothing changed: the time of this code is over. Write to the bot again for another one.";
    case "missing":
      return "Nothing changed: nobody was told this code, see partyline pair list.";
    case "taken":
      return "Nothing changed: somebody is paired already. Run partyline pair revoke first.";
    case "nobody":
      return "Nothing changed: nobody is paired.";
  }
}

const isDone = ({ kind }: PairingReply): boolean => kind === "approved" || kind === "rejected" || kind === "revoked";

/** Exit code 1 when nothing changed. */
const say = (flags: PairFlags, act: (pairing: Pairing) => Promise<PairingReply>): Promise<number> =>
  withPairing(flags, async (pairing) => {
    const reply = await act(pairing);
    if (flags.json === true) console.log(JSON.stringify(reply));
    else if (isDone(reply)) console.log(sentence(reply));
    else console.error(sentence(reply));
    return isDone(reply) ? 0 : 1;
  });

export const approvePairing = (code: string, flags: PairFlags): Promise<number> =>
  say(flags, (pairing) => pairing.approve(code));
export const rejectPairing = (code: string, flags: PairFlags): Promise<number> =>
  say(flags, (pairing) => pairing.reject(code));
export const revokePairing = (flags: PairFlags): Promise<number> => say(flags, (pairing) => pairing.revoke());
