/**
 * Pairing as an operator sees it, from any process: who is paired, who asks, yes and no.
 *
 * Owns: what is told of each request, reading a code as it was typed. Does not own: the verdicts (the store carries them out).
 */
import { isOpenRequest, pairingKeepMs, readCode } from "../machines/pairing.rules.ts";
import type { PairedUser } from "../machines/pairing.rules.ts";
import type { Clock, Store } from "./ports.ts";

/** Somebody who asked to be the one person whose messages have effects. */
export interface PairingAsker {
  readonly code: string;
  readonly userId: number;
  /** As they call themselves in Telegram: anybody can call themselves anything. */
  readonly name: string;
  readonly askedAtMs: number;
  readonly endsAtMs: number;
}

export interface PairingState {
  readonly paired: PairedUser | null;
  /** Those whose code counts, oldest first. */
  readonly requests: readonly PairingAsker[];
}

/** `taken`: somebody is paired already, and is revoked first. `expired`: its time is over. `missing`: there is no such code. */
export type PairingReply =
  | { readonly kind: "approved" | "revoked"; readonly user: PairedUser }
  | { readonly kind: "rejected"; readonly user: Pick<PairingAsker, "userId" | "name"> }
  | { readonly kind: "missing" | "expired" | "taken" | "nobody" };

export interface Pairing {
  state(): Promise<PairingState>;
  /** Pairs whoever has this code; running instances take it up within a second. */
  approve(code: string): Promise<PairingReply>;
  /** The person is not answered again until their request would have ended. */
  reject(code: string): Promise<PairingReply>;
  /** Nobody is paired from here on: not one further update has an effect. */
  revoke(): Promise<PairingReply>;
  close(): Promise<void>;
}

export async function pairingState({ store, clock }: Pick<PairingSources, "store" | "clock">): Promise<PairingState> {
  const { paired, requests } = await store.pairing.read();
  const nowMs = clock.nowMs();
  return {
    paired,
    requests: requests
      .filter((each) => isOpenRequest(each, nowMs) && !each.isRejected)
      .map(({ code, userId, name, askedAtMs }) => ({
        code,
        userId,
        name,
        askedAtMs,
        endsAtMs: askedAtMs + pairingKeepMs,
      })),
  };
}

interface PairingSources {
  readonly store: Store;
  readonly clock: Clock;
}

export function pairingOf({ store, clock }: PairingSources): Pairing {
  const { pairing } = store;
  const asked = (code: string) => ({ code: readCode(code), nowMs: clock.nowMs() });
  return {
    state: () => pairingState({ store, clock }),
    async approve(code) {
      const outcome = await pairing.approve(asked(code));
      return outcome.kind === "approved" ? { kind: outcome.kind, user: outcome.paired } : outcome;
    },
    async reject(code) {
      const outcome = await pairing.reject(asked(code));
      if (outcome.kind !== "rejected") return outcome;
      const { userId, name } = outcome.request;
      return { kind: outcome.kind, user: { userId, name } };
    },
    async revoke() {
      const outcome = await pairing.revoke();
      return outcome.kind === "revoked" ? { kind: outcome.kind, user: outcome.paired } : outcome;
    },
    close: () => store.close(),
  };
}
