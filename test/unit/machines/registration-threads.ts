/** The tests of `registration.machine.test.ts` about the thread of a seat: when the user hears of it, and when it is lost. */
import { describe, expect, it } from "vitest";
import { bound, committed, provisioning } from "./registration-scenes.ts";

describe("the user hears of a thread", () => {
  it.each(["created", "proven"] as const)("threads/FP-B1 tells that a thread is %s, once it is committed", (origin) => {
    const seat = provisioning().answer("provisioning", { ...bound, origin });
    expect(seat.trace()).not.toContain("seat.connected");
    seat.answer("commitRegistration", committed);
    expect(seat.trace()).toContain("emits seat.connected (thread: …)");
  });

  it.each(["reused", "handedOver"] as const)(
    "threads/S-1 threads/S-4 says nothing of a thread that is %s",
    (origin) => {
      const seat = provisioning()
        .answer("provisioning", { ...bound, origin })
        .answer("commitRegistration", committed);
      expect(seat.trace()).not.toContain("seat.connected");
    },
  );
});
