/** Who is paired and who asks to be, in memory. */
import { isOpenRequest, judgeAsk, judgeCode } from "../../../machines/pairing.rules.ts";
import type { PairingRequest } from "../../../machines/pairing.rules.ts";
import type { PairingStore } from "../../../services/ports/pairing.ts";
import type { MemoryHandle } from "./database.ts";

export function pairingStore(handle: MemoryHandle): PairingStore {
  const { db } = handle;
  const put = (request: PairingRequest): void => {
    const others = db.pairing.requests.filter(({ userId }) => userId !== request.userId);
    const requests = [...others, request].sort(
      (one, other) => one.askedAtMs - other.askedAtMs || one.userId - other.userId,
    );
    db.pairing = { ...db.pairing, requests };
  };
  return {
    read: () => handle.run(() => db.pairing),

    ask: ({ epoch, asker, code, nowMs }) =>
      handle.runAsLeader(epoch, () => {
        const verdict = judgeAsk(db.pairing, { asker, code, nowMs });
        db.pairing = { ...db.pairing, requests: db.pairing.requests.filter((each) => isOpenRequest(each, nowMs)) };
        if (verdict.kind === "noted") put(verdict.request);
        return verdict;
      }),

    approve: ({ code, nowMs }) =>
      handle.run(() => {
        if (db.pairing.paired !== null) return { kind: "taken" } as const;
        const verdict = judgeCode(db.pairing, { code, nowMs });
        if (verdict.kind !== "good") return verdict;
        const { userId, name } = verdict.request;
        const paired = { userId, name, atMs: nowMs };
        db.pairing = { paired, requests: [] };
        return { kind: "approved", paired } as const;
      }),

    reject: ({ code, nowMs }) =>
      handle.run(() => {
        const verdict = judgeCode(db.pairing, { code, nowMs });
        if (verdict.kind !== "good") return verdict;
        const request = { ...verdict.request, isRejected: true };
        put(request);
        return { kind: "rejected", request } as const;
      }),

    revoke: () =>
      handle.run(() => {
        const { paired } = db.pairing;
        if (paired === null) return { kind: "nobody" } as const;
        db.pairing = { ...db.pairing, paired: null };
        return { kind: "revoked", paired } as const;
      }),
  };
}
