/** Rules of the v1 owner record: reading, identity, derived state, the take, who leads. */
import { describe, expect, it } from "vitest";
import { epoch, instanceId } from "../../../machines/ids.ts";
import {
  isPrecededIn,
  isSameOwner,
  isUntouched,
  judgeTake,
  leaderIn,
  ownerStateOf,
  readOwnerRecord,
  takenRecord,
  writeOwnerRecord,
} from "../../../machines/owner.rules.ts";
import type { OwnerRecord } from "../../../machines/owner.rules.ts";
import { holder, record as lease } from "../../support/charts/samples.ts";
import { ownerRecord, ownSelf } from "../../support/charts/owner-samples.ts";

const nowMs = 1_000_000;
const look = (record: OwnerRecord | null, isRunning = true) => ({ record, nowMs, isRunning });
const aged = (ageMs: number, differs: Partial<OwnerRecord> = {}) =>
  ownerRecord({ heartbeatMs: nowMs - ageMs, ...differs });
const mine = takenRecord(ownSelf, "e-mine", nowMs);

describe("the record", () => {
  it("is written as v1 writes it and read back the same; absent fields stay absent", () => {
    expect(writeOwnerRecord(mine)).toEqual({
      pid: 100,
      cwd: "/srv/one",
      instanceId: "100:1",
      heartbeatMs: nowMs,
      leaderEpoch: "e-mine",
      runtimeGeneration: 500,
      busSecret: "own-secret",
    });
    expect(readOwnerRecord(writeOwnerRecord(mine))).toEqual(mine);
  });

  it.each([[null], ["text"], [[]], [{}], [{ pid: "7" }]])("%j is no record", (value) => {
    expect(readOwnerRecord(value)).toBeNull();
  });

  it("drops what is of the wrong type and takes a legacy numeric epoch", () => {
    expect(readOwnerRecord({ pid: 7, cwd: 3, leaderEpoch: 4, heartbeatMs: "x", surplus: true })).toMatchObject({
      pid: 7,
      cwd: null,
      leaderEpoch: 4,
      heartbeatMs: null,
    });
  });

  it.each(["pid", "cwd", "instanceId", "leaderEpoch", "runtimeGeneration"] as const)(
    "is another owner's when %s differs, and the same whatever the heartbeat says",
    (field) => {
      expect(isSameOwner(ownerRecord(), ownerRecord({ heartbeatMs: 1 }))).toBe(true);
      expect(isSameOwner(ownerRecord(), { ...ownerRecord(), [field]: field === "pid" ? 9 : "other" })).toBe(false);
      expect(isSameOwner(null, null)).toBe(false);
    },
  );

  it("protocol/O-42 counts as untouched only with the very heartbeat that was seen", () => {
    expect(isUntouched(null, null)).toBe(true);
    expect(isUntouched(aged(9_000), aged(9_000))).toBe(true);
    expect(isUntouched(aged(9_000), aged(8_500))).toBe(false);
    expect(isUntouched(null, aged(9_000))).toBe(false);
  });
});

describe("what a record means", () => {
  it("protocol/S-59 a heartbeat 7999 ms old is live, 8001 ms stale even though the pid lives (v1 timings on the v1 record)", () => {
    expect(ownerStateOf(look(aged(7_999)), ownSelf)).toBe("held");
    expect(ownerStateOf(look(aged(8_000)), ownSelf)).toBe("held");
    expect(ownerStateOf(look(aged(8_001)), ownSelf)).toBe("stale");
    expect(ownerStateOf(look(aged(Number.NaN, { heartbeatMs: null })), ownSelf)).toBe("held");
  });

  it("is gone at once when its process is", () => {
    expect(ownerStateOf(look(aged(0), false), ownSelf)).toBe("gone");
  });

  it("is nobody's when there is none, and ours by pid, instance and runtime", () => {
    expect(ownerStateOf(look(null), ownSelf)).toBe("inactive");
    expect(ownerStateOf(look(mine), ownSelf)).toBe("own");
    expect(ownerStateOf(look({ ...mine, heartbeatMs: 0 }), ownSelf)).toBe("own");
  });

  it("protocol/S-61 of our own process is taken over by a newer runtime only, and only once it is stale (we have no force)", () => {
    const older = { ...mine, instanceId: "100:0", runtimeGeneration: 499 };
    const newer = { ...mine, instanceId: "100:9", runtimeGeneration: 501 };
    expect(ownerStateOf(look({ ...older, heartbeatMs: nowMs }), ownSelf)).toBe("sibling");
    expect(ownerStateOf(look({ ...older, heartbeatMs: nowMs - 8_001 }), ownSelf)).toBe("stale");
    expect(ownerStateOf(look({ ...newer, heartbeatMs: nowMs - 8_001 }), ownSelf)).toBe("sibling");
  });

  it("protocol/S-62 of the same instance id with another runtime generation is not ours", () => {
    expect(ownerStateOf(look({ ...mine, runtimeGeneration: 499 }), ownSelf)).toBe("sibling");
  });
});

describe("the take, inside the transaction", () => {
  it("protocol/S-55 takes an empty slot, whatever was expected", () => {
    expect(judgeTake(look(null), ownSelf, null)).toBe("taken");
    expect(judgeTake(look(null), ownSelf, ownerRecord())).toBe("taken");
  });

  it("protocol/S-56 refuses the second of two who saw the same stale record", () => {
    expect(judgeTake(look(aged(9_000)), ownSelf, aged(9_000))).toBe("taken");
    expect(judgeTake(look(aged(0, { instanceId: "300:1", pid: 300 })), ownSelf, aged(9_000))).toBe("refused");
  });

  it("protocol/S-57, EL-5 refuses when the owner refreshed after it was seen stale", () => {
    expect(judgeTake(look(aged(0)), ownSelf, aged(9_000))).toBe("refused");
  });

  it("protocol/S-58, EL-5 refuses an owner who appeared in a slot that was seen empty, stale or not", () => {
    expect(judgeTake(look(aged(0)), ownSelf, null)).toBe("refused");
    expect(judgeTake(look(aged(9_000)), ownSelf, null)).toBe("refused");
  });

  it("protocol/S-60 takes no live record, whatever identity is expected (we have no force)", () => {
    expect(judgeTake(look(aged(0)), ownSelf, aged(0))).toBe("refused");
  });

  it("protocol/S-72 superseded: starting is connecting, so a stale record is stood for whatever folder it was led from", () => {
    const elsewhere = aged(9_000, { cwd: "/srv/elsewhere" });
    expect(judgeTake(look(elsewhere), ownSelf, elsewhere)).toBe("taken");
    const here = aged(9_000, { cwd: ownSelf.cwd });
    expect(judgeTake(look(here), ownSelf, here)).toBe("taken");
  });

  it("protocol/O-43 adopts no legacy record, and writes a whole one at its first touch", () => {
    const legacy = { instanceId: null, runtimeGeneration: null, leaderEpoch: 3 };
    const ofOurProcess = { ...mine, ...legacy, heartbeatMs: nowMs };
    expect(ownerStateOf(look(ofOurProcess), ownSelf)).toBe("sibling");
    expect(judgeTake(look(ofOurProcess), ownSelf, ofOurProcess)).toBe("refused");
    const stale = aged(9_000, legacy);
    expect(judgeTake(look(stale), ownSelf, stale)).toBe("taken");
    expect(Object.values(takenRecord(ownSelf, "fresh", nowMs)).filter((value) => value === null)).toHaveLength(1); // busSocketPath
  });

  it("protocol/P-2 keeps a record of ours, and its epoch with it: that is no new take", () => {
    expect(judgeTake(look(mine), ownSelf, null)).toBe("kept");
  });
});

describe("who leads", () => {
  const seen = { kind: "seen", state: "held", isPreceded: false } as const;

  it("is an own leader when the store's lease names the same instance, with its epoch and its words", () => {
    const record = ownerRecord({ instanceId: String(holder().instanceId) });
    expect(leaderIn({ ...seen, record, lease: lease() }, "/v1/bus.sock")).toEqual({
      epoch: 3,
      holder: { ...holder(), dialect: "own" },
    });
  });

  it("is a v1 leader otherwise: epoch 0, the secret of the record, the derived address", () => {
    expect(leaderIn({ ...seen, record: ownerRecord(), lease: lease() }, "/v1/bus.sock")).toMatchObject({
      epoch: epoch(0),
      holder: { instanceId: instanceId("700:1"), endpoint: "/v1/bus.sock", secret: "v1-secret", dialect: "v1" },
    });
  });

  it("serves where an older writer says it does", () => {
    const record = ownerRecord({ busSocketPath: "/elsewhere.sock", instanceId: null, busSecret: null });
    expect(leaderIn({ ...seen, record, lease: lease() }, "/v1/bus.sock").holder).toMatchObject({
      instanceId: "700",
      endpoint: "/elsewhere.sock",
      secret: "",
    });
  });
});

describe("protocol/S-48, S-49, EL-2, O-47 the candidate before us", () => {
  it.each([
    [["A", "B"], "B", true],
    [["B", "C"], "B", false],
    [["Z"], "AA", true],
    [["AA"], "Z", false],
    [[], "C", false],
    [["A"], null, false],
    [["a", "1"], "C", false],
  ] as const)("with the roster %j and slot %s: %s", (roster, slot, expected) => {
    expect(isPrecededIn(roster, slot)).toBe(expected);
  });
});
