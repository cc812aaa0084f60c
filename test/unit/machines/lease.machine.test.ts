import { expect, it } from "vitest";
import { leaseMachine } from "../../../machines/lease.machine.ts";
import { defaultLeaseTimings } from "../../../machines/lease.rules.ts";
import { playChart } from "../../support/charts/play.ts";
import { me, record } from "../../support/charts/samples.ts";
it("x", () => {
  const lease = playChart(leaseMachine, { me, timings: defaultLeaseTimings });
  lease.answer("readLease", record({holder: null}));
  lease.answer("acquireLease", { kind: "granted", record: record(), remainingMs: 6000 });
  console.log(lease.timers, lease.requests);
  lease.after("renewInterval");
  lease.answer("renewLease", { kind: "renewed", record: record(), remainingMs: 6000 });
  lease.send({ type: "lease.release" });
  // @ts-expect-error
  lease.answer("nope", 1);
  console.log(lease.trace(), lease.taken, lease.timers, lease.requests);
  expect(1).toBe(1);
});
