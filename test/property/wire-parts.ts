/** The parts of the view that walks of the wire's own code show: the real ledger, endpoints and owner file. */
export const ledgerParts = ["ledger"] as const;
export const endpointParts = ["endpointSteps"] as const;
export const ownerFileParts = ["ownerFileSteps"] as const;
/** A leader of ours and followers of both kinds. */
export const peerParts = ["offerRelays", "messageChanges"] as const;
/** Hosts that hand work over by the store. */
export const handoverParts = ["offersEnded"] as const;
