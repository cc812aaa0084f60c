import { expect } from "vitest";
import { epoch as epochOf } from "../../../machines/ids.ts";
import { pairingKeepMs, pairingRequestsMax } from "../../../machines/pairing.rules.ts";
import type { Store } from "../../../services/ports.ts";
import * as the from "./fixtures.ts";
import { testWith, type Harness } from "./harness.ts";

const nowMs = the.startMs;
const ann = { userId: 5_550_001, name: "Ann" };
const bob = { userId: 5_559_999, name: "Bob" };

async function asked(store: Store) {
  const epoch = await the.lead(store, 1);
  await store.pairing.ask({ epoch, asker: ann, code: "AAAA-AAAA", nowMs });
  await store.pairing.ask({ epoch, asker: bob, code: "BBBB-BBBB", nowMs: nowMs + 1 });
  return epoch;
}

export function pairingContract(make: () => Promise<Harness>): void {
  const test = testWith(make);

  test("at first nobody is paired and nobody asks; asking pairs nobody", async ({ store }) => {
    expect(await store.pairing.read()).toEqual({ paired: null, requests: [] });
    const epoch = await asked(store);
    const { paired, requests } = await store.pairing.read();
    expect(paired).toBeNull();
    expect(requests.map(({ code, name }) => [code, name])).toEqual([
      ["AAAA-AAAA", "Ann"],
      ["BBBB-BBBB", "Bob"],
    ]);
    const again = await store.pairing.ask({ epoch, asker: ann, code: "CCCC-CCCC", nowMs: nowMs + 2 });
    expect(again).toMatchObject({ kind: "noted", isToBeTold: false, request: { code: "AAAA-AAAA" } });
  });

  test("asking is the leader's to write down: under another epoch nothing is", async ({ store }) => {
    await the.lead(store, 1);
    const late = await store.pairing.ask({ epoch: epochOf(9), asker: ann, code: "AAAA-AAAA", nowMs });
    expect(late.kind).toBe("fenced");
    expect((await store.pairing.read()).requests).toEqual([]);
  });

  test("requests are bounded in number, and those whose time is over go", async ({ store }) => {
    const epoch = await the.lead(store, 1);
    for (let n = 1; n <= pairingRequestsMax; n += 1)
      await store.pairing.ask({ epoch, asker: { userId: n, name: "" }, code: `CODE-000${n}`, nowMs });
    const late = { epoch, asker: ann, code: "AAAA-AAAA", nowMs };
    expect(await store.pairing.ask(late)).toEqual({ kind: "full" });
    expect((await store.pairing.read()).requests).toHaveLength(pairingRequestsMax);
    expect(await store.pairing.ask({ ...late, nowMs: nowMs + pairingKeepMs })).toMatchObject({ kind: "noted" });
    expect((await store.pairing.read()).requests).toMatchObject([{ code: "AAAA-AAAA" }]);
  });

  test("a code pairs exactly one person, from any process, and every request ends with that", async ({
    store,
    harness,
  }) => {
    const epoch = await asked(store);
    const other = await harness.open();
    const outcomes = await Promise.all([
      store.pairing.approve({ code: "AAAA-AAAA", nowMs }),
      other.pairing.approve({ code: "BBBB-BBBB", nowMs }),
    ]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["approved", "taken"]);
    const { paired, requests } = await other.pairing.read();
    expect(requests).toEqual([]);
    expect([ann.userId, bob.userId]).toContain(paired?.userId);
    expect(await store.pairing.ask({ epoch, asker: bob, code: "CCCC-CCCC", nowMs })).toEqual({ kind: "paired" });
  });

  test("a code that is over, unknown or rejected pairs nobody", async ({ store }) => {
    await asked(store);
    const late = nowMs + pairingKeepMs;
    expect(await store.pairing.approve({ code: "AAAA-AAAA", nowMs: late })).toEqual({ kind: "expired" });
    expect(await store.pairing.approve({ code: "CCCC-CCCC", nowMs })).toEqual({ kind: "missing" });
    expect(await store.pairing.reject({ code: "BBBB-BBBB", nowMs })).toMatchObject({
      kind: "rejected",
      request: { userId: bob.userId, isRejected: true },
    });
    expect(await store.pairing.reject({ code: "BBBB-BBBB", nowMs })).toEqual({ kind: "missing" });
    expect(await store.pairing.approve({ code: "BBBB-BBBB", nowMs })).toEqual({ kind: "missing" });
    expect((await store.pairing.read()).paired).toBeNull();
  });

  test("revoking leaves nobody paired, once; then others may ask again", async ({ store }) => {
    const epoch = await asked(store);
    expect(await store.pairing.revoke()).toEqual({ kind: "nobody" });
    await store.pairing.approve({ code: "AAAA-AAAA", nowMs: nowMs + 3 });
    const paired = { ...ann, atMs: nowMs + 3 };
    expect(await store.pairing.read()).toEqual({ paired, requests: [] });
    expect(await store.pairing.revoke()).toEqual({ kind: "revoked", paired });
    expect(await store.pairing.revoke()).toEqual({ kind: "nobody" });
    expect(await store.pairing.ask({ epoch, asker: bob, code: "CCCC-CCCC", nowMs })).toMatchObject({ kind: "noted" });
  });
}
