/** The tests of `activation.machine.test.ts` about a token that Telegram rejects. */
import { describe, expect, it } from "vitest";
import { start } from "./activation-scenes.ts";

describe("C14 Telegram rejects the token", () => {
  const rejection = { kind: "unauthorized", reason: "401" } as const;
  const rejected = () => start().answer("identify", rejection);

  it("says so once, keeps the lease, and tries the token anew with growing pauses, up to a minute", () => {
    const chart = start();
    const pauses = Array.from({ length: 8 }, (_, at) => {
      const { rejectedPause } = chart.answer("identify", rejection).timers;
      chart.after("rejectedPause");
      expect(chart.requests).toEqual({ renewToken: undefined });
      if (at % 2 === 0) chart.answer("renewToken", undefined);
      else chart.fail("renewToken");
      return rejectedPause;
    });
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    expect(chart.facts).toEqual([{ type: "activation.troubled", trouble: "unauthorized", reason: "401" }]);
    expect(chart.requests).toEqual({ identify: undefined });
  });

  it("goes on at once with another token", () => {
    const chart = rejected().send({ type: "token.renewed" }).answer("identify", { kind: "topics" });
    expect(Object.keys(chart.requests)).toEqual(["provisioning"]);
  });

  it("another token is of no interest while the present one is taken", () => {
    const chart = start().send({ type: "token.renewed" });
    expect(chart.state).toBe("identifying");
    expect(chart.facts).toEqual([]);
  });

  it("says it again when it is rejected again later", () => {
    const chart = rejected().send({ type: "token.renewed" }).answer("identify", { kind: "topics" });
    chart.fail("provisioning").after("retryPause").answer("identify", rejection);
    expect(chart.facts.filter((fact) => "trouble" in fact && fact.trouble === "unauthorized")).toHaveLength(2);
    expect(chart.timers).toEqual({ rejectedPause: 1_000 });
  });
});
