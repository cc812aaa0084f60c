/**
 * Port of pairing: who may write to the bot where no user is configured, and who asks to.
 *
 * Owns: the contract. Does not own: the bounds and verdicts (`machines/pairing.rules.ts`). The rules of `ports.ts` hold.
 */
import type { Epoch } from "../../machines/ids.ts";
import type { Asker, PairedUser, PairingRequest, PairingView } from "../../machines/pairing.rules.ts";

export interface PairingStore {
  /** Who is paired, and who asked, in the order in which they did. */
  read(): Promise<PairingView>;
  /** Somebody asks (`judgeAsk`); requests whose time is over go in the same transaction. Only the leader hears anybody ask. */
  ask(request: {
    readonly epoch: Epoch;
    readonly asker: Asker;
    /** The code that they get if they have none. */
    readonly code: string;
    readonly nowMs: number;
  }): Promise<
    | { readonly kind: "noted"; readonly request: PairingRequest; readonly isToBeTold: boolean }
    | { readonly kind: "full" | "rejected" | "paired" }
    | { readonly kind: "fenced"; readonly current: Epoch }
  >;
  /**
   * Compare-and-set by any process, under no epoch: whoever the code stands for is paired, and every request ends. Nobody is
   * ever replaced: while somebody is paired there is no code.
   */
  approve(request: {
    readonly code: string;
    readonly nowMs: number;
  }): Promise<
    { readonly kind: "approved"; readonly paired: PairedUser } | { readonly kind: "missing" | "expired" | "taken" }
  >;
  /** The person is not answered again until the request's time is over. */
  reject(request: {
    readonly code: string;
    readonly nowMs: number;
  }): Promise<
    { readonly kind: "rejected"; readonly request: PairingRequest } | { readonly kind: "missing" | "expired" }
  >;
  /** From here on nobody is paired. What was delivered before stays delivered. */
  revoke(): Promise<{ readonly kind: "revoked"; readonly paired: PairedUser } | { readonly kind: "nobody" }>;
}
