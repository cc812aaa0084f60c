import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RequestLedger } from "../../../adapters/transport/wire/ledger.ts";

interface Gate {
  readonly promise: Promise<string>;
  open(text: string): void;
}

function gate(): Gate {
  let open: (text: string) => void = () => {};
  const promise = new Promise<string>((resolve) => (open = resolve));
  return { promise, open };
}

/** A ledger whose requests run until the test settles them. */
function ledgerOf(entriesMax: number, weightMax = Number.POSITIVE_INFINITY) {
  const ledger = new RequestLedger<string>({ entriesMax, weightMax, weigh: (answer) => answer.length });
  const gates = new Map<string, Gate>();
  let runs = 0;
  return {
    ledger,
    runs: () => runs,
    admit: (key: string, fingerprint = "f") =>
      ledger.admit(key, fingerprint, () => {
        runs += 1;
        const made = gate();
        gates.set(key, made);
        return made.promise;
      }),
    settle: async (key: string, text = "done") => {
      await Promise.resolve();
      gates.get(key)?.open(text);
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    },
  };
}

describe("request ledger", () => {
  test("protocol/W-23, P-20: a known request gets the stored answer, pending or settled, and runs once", async () => {
    const { admit, settle, runs } = ledgerOf(4);
    const first = admit("a");
    const second = admit("a");
    expect([first.kind, second.kind]).toEqual(["new", "repeated"]);
    await settle("a", "x");
    const third = admit("a");
    expect(third.kind === "repeated" && (await third.answer)).toBe("x");
    expect(second.kind === "repeated" && (await second.answer)).toBe("x");
    expect(runs()).toBe(1);
  });
  test("protocol/W-24, P-21: another fingerprint collides and disturbs nothing", async () => {
    const { admit, settle, runs } = ledgerOf(4);
    admit("a");
    expect(admit("a", "other").kind).toBe("collision");
    await settle("a");
    expect(admit("a").kind).toBe("repeated");
    expect(runs()).toBe(1);
  });
  test("protocol/W-25, P-22: at capacity the oldest settled goes; all in flight is full", async () => {
    const { admit, settle, ledger } = ledgerOf(3);
    for (const key of ["a", "b", "c"]) admit(key);
    expect(admit("d").kind).toBe("full");
    expect(ledger.size).toBe(3);
    await settle("c");
    await settle("b");
    expect(admit("d").kind).toBe("new");
    // `b` was older than `c`, though it settled later.
    expect(admit("c").kind).toBe("repeated");
    expect(admit("b").kind).toBe("new");
    expect(admit("a").kind).toBe("repeated");
    expect(admit("e").kind).toBe("full");
  });
  test("protocol/W-25: an entry that was passed over in flight is the oldest once it settles", async () => {
    const { admit, settle } = ledgerOf(3);
    admit("old");
    admit("b");
    await settle("b");
    admit("c");
    admit("d");
    await settle("d");
    await settle("old");
    expect(admit("e").kind).toBe("new");
    expect(admit("d").kind).toBe("repeated");
    expect(admit("old").kind).toBe("new");
  });
  test("protocol/O-24: answers are remembered up to a weight: the oldest settled ones go, whatever is in flight stays", async () => {
    const { admit, settle, ledger } = ledgerOf(10, 10);
    for (const key of ["flying", "a", "b", "c"]) admit(key);
    await settle("a", "four");
    await settle("b", "four");
    expect(ledger.size).toBe(4);
    await settle("c", "four");
    expect(ledger.size).toBe(3);
    expect(admit("b").kind).toBe("repeated");
    expect(admit("a").kind).toBe("new");
    await settle("flying", "x".repeat(11));
    // It is the oldest, and too heavy alone.
    expect(ledger.size).toBe(3);
    expect(admit("flying").kind).toBe("new");
    for (const key of ["b", "c", "a"]) expect(admit(key).kind).toBe("repeated");
  });
  test("protocol/W-26: the handler runs on a later microtask", async () => {
    const { admit, runs } = ledgerOf(2);
    admit("a");
    expect(runs()).toBe(0);
    await Promise.resolve();
    expect(runs()).toBe(1);
  });
  test("protocol/W-20, W-27: capacity is at least one; cleared is empty", () => {
    const { admit, ledger } = ledgerOf(0);
    expect(admit("a").kind).toBe("new");
    expect(admit("b").kind).toBe("full");
    ledger.clear();
    expect(ledger.size).toBe(0);
    expect(admit("b").kind).toBe("new");
  });
  test("protocol/W-23, W-25: behaves as an ordered list that is searched from its start", async () => {
    const steps = fc.array(
      fc.record({ act: fc.constantFrom("admit", "settle"), key: fc.integer({ min: 0, max: 9 }).map(String) }),
      { maxLength: 200 },
    );
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 5 }), async (acts, entriesMax) => {
        const real = ledgerOf(entriesMax);
        const model: { key: string; settled: boolean }[] = [];
        for (const { act, key } of acts) {
          const known = model.find((entry) => entry.key === key);
          if (act === "settle") {
            await real.settle(key);
            if (known !== undefined) known.settled = true;
            continue;
          }
          let expected = "new";
          if (known !== undefined) expected = "repeated";
          else if (model.length >= entriesMax) {
            const oldest = model.findIndex((entry) => entry.settled);
            if (oldest < 0) expected = "full";
            else model.splice(oldest, 1);
          }
          if (expected === "new") model.push({ key, settled: false });
          expect(real.admit(key).kind).toBe(expected);
        }
        expect(real.ledger.size).toBe(model.length);
      }),
      { numRuns: 200 },
    );
  });
});
