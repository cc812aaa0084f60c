/**
 * What every transport promises, whatever its medium. Called by one test file for each.
 *
 * Owns: the behaviour that services rely on (services/ports.ts). Does not own: bytes, files, faults of a medium.
 */
import { describe, expect, test, vi } from "vitest";
import type { Ack } from "../../../../machines/wire/envelopes.ts";
import type { Inbound, RequestHandler } from "../../../../services/ports.ts";
import { auth, callApi, heartbeat, okAck, register } from "./envelopes.ts";
import { addressContract } from "./contract-addresses.ts";
import { disposing, type ContractHarness } from "./contract-harness.ts";
import { gate, waiting } from "./harness.ts";

export function transportContract(medium: string, make: () => ContractHarness): void {
  const within = disposing(make);

  // A busy machine is slow; what these tests wait for is a condition.
  vi.setConfig({ testTimeout: 30_000 });

  describe(`${medium}: requests on a link`, () => {
    test(
      "an answer arrives, with what the handler was given",
      within(async ({ serve, dial }) => {
        const handled = vi.fn<RequestHandler>(async (request) => okAck(request, { chatId: 7 }));
        await serve(handled);
        const link = await dial();
        expect(await link.request(register("r"), 1000)).toEqual({
          kind: "answered",
          ack: okAck(register("r"), { chatId: 7 }),
        });
        expect(handled.mock.calls[0]?.[0]).toEqual(register("r"));
      }),
    );
    test(
      "protocol/W-6, S-10: many at a time; a slow one holds nobody up",
      within(async ({ serve, dial }) => {
        const slow = gate();
        await serve(async (request) => {
          if (request.requestId === "slow") await slow.promise;
          return okAck(request, request.requestId);
        });
        const link = await dial();
        const first = link.request(heartbeat("slow"), 1000);
        const others = await Promise.all(
          Array.from({ length: 100 }, (_, index) => link.request(heartbeat(String(index)), 1000)),
        );
        expect(others.map((outcome) => outcome.kind === "answered" && outcome.ack.result)).toEqual(
          others.map((_, index) => String(index)),
        );
        slow.open();
        expect((await first).kind).toBe("answered");
      }),
    );
    test(
      "protocol/S-7: no answer in time is lost, and a late answer is counted",
      within(async ({ serve, dial, clock, counts }) => {
        const late = gate();
        const arrived = gate();
        await serve(async (request) => {
          arrived.open();
          await late.promise;
          return okAck(request);
        });
        const link = await dial();
        const outcome = link.request(heartbeat("a"), 1000);
        await arrived.promise;
        clock.advance(1000);
        expect(await outcome).toEqual({
          kind: "lost",
          how: "timedOut",
          reason: "Timed out waiting for Telegram bus response",
        });
        late.open();
        await vi.waitFor(() => expect(counts.of["answer-unmatched"]).toBe(1), waiting);
        expect(clock.pending).toBe(0);
      }),
    );
    test(
      "a close while waiting is lost; after it nothing is sent",
      within(async ({ serve, dial }) => {
        const arrived = gate();
        const endpoint = await serve(async (request) => {
          arrived.open();
          await new Promise(() => {});
          return okAck(request);
        });
        const link = await dial();
        const outcome = link.request(heartbeat("a"), 1000);
        await arrived.promise;
        await endpoint.close();
        expect(await outcome).toMatchObject({ kind: "lost", how: "closed" });
        await link.closed;
        expect((await link.request(heartbeat("b"), 1000)).kind).toBe("notSent");
      }),
    );
    test(
      "an id in flight and an unencodable request are not sent",
      within(async ({ serve, dial }) => {
        await serve();
        const link = await dial();
        const [first, second] = await Promise.all([
          link.request(heartbeat("a"), 1000),
          link.request(heartbeat("a"), 1000),
        ]);
        expect([first.kind, second.kind]).toEqual(["answered", "notSent"]);
        expect((await link.request(callApi("b", [1n]), 1000)).kind).toBe("notSent");
      }),
    );
    test(
      "closed resolves at both ends, whoever closes",
      within(async ({ serve, dial }) => {
        const inbounds: Inbound[] = [];
        await serve(async (request, from) => {
          inbounds.push(from);
          return okAck(request);
        });
        const link = await dial();
        await link.request(heartbeat("a"), 1000);
        await link.request(heartbeat("b"), 1000);
        expect(inbounds[0]).toBe(inbounds[1]);
        link.close();
        await link.closed;
        await inbounds[0]?.closed;
      }),
    );
  });

  describe(`${medium}: ledger`, () => {
    test(
      "protocol/S-13, S-14: concurrent and later repeats run once and get equal answers, over any connection",
      within(async ({ serve, dial }) => {
        let runs = 0;
        await serve(async (request) => okAck(request, (runs += 1)));
        const links = [await dial(), await dial(), await dial()];
        const outcomes = await Promise.all(links.map((link) => link.request(heartbeat("a"), 1000)));
        outcomes.push(...(await Promise.all(links.map((link) => link.request(heartbeat("a"), 1000)))));
        for (const outcome of outcomes) expect(outcome).toEqual({ kind: "answered", ack: okAck(heartbeat("a"), 1) });
        expect(runs).toBe(1);
      }),
    );
    test(
      "protocol/P-20, W-23: a refusal is remembered like any answer, though what it was refused for is over by now",
      within(async ({ serve, dial }) => {
        const answers: Ack[] = [];
        await serve(async ({ requestId }) => {
          const isKnown = answers.length > 0;
          const ack: Ack = { kind: "bus.ack", requestId, ok: isKnown, ...(isKnown ? {} : { message: "Not yet." }) };
          answers.push(ack);
          return ack;
        });
        const links = [await dial(), await dial()];
        for (const link of [...links, ...links])
          expect(await link.request(heartbeat("a"), 1000)).toEqual({
            kind: "answered",
            ack: { kind: "bus.ack", requestId: "a", ok: false, message: "Not yet." },
          });
        expect(answers).toHaveLength(1);
      }),
    );
    test(
      "protocol/S-16, W-24: same id, other content collides",
      within(async ({ serve, dial }) => {
        const handled = vi.fn<RequestHandler>(async (request) => okAck(request));
        await serve(handled);
        const link = await dial();
        await link.request(heartbeat("a", 1), 1000);
        expect(await link.request(heartbeat("a", 2), 1000)).toEqual({
          kind: "answered",
          ack: {
            kind: "bus.ack",
            requestId: "a",
            ok: false,
            message: "Telegram bus request id was reused with a different payload.",
            error: { code: "request-id-collision" },
          },
        });
        expect((await link.request(heartbeat("a", 1), 1000)).kind).toBe("answered");
        expect(handled).toHaveBeenCalledTimes(1);
      }),
    );
    test(
      "protocol/W-28: another secret is another request",
      within(async ({ serve, dial }) => {
        const handled = vi.fn<RequestHandler>(async (request) => okAck(request, request.auth === auth));
        await serve(handled);
        const link = await dial();
        await link.request({ ...heartbeat("a"), auth: "wrong" }, 1000);
        expect(await link.request(heartbeat("a"), 1000)).toEqual({
          kind: "answered",
          ack: okAck(heartbeat("a"), true),
        });
        expect(handled).toHaveBeenCalledTimes(2);
      }),
    );
    test(
      "protocol/S-17, W-11, W-23: a handler that throws, answers another id or something unencodable",
      within(async ({ serve, dial, counts }) => {
        let runs = 0;
        await serve(async (request) => {
          runs += 1;
          if (request.requestId === "throws") throw new Error("secret cause");
          return request.requestId === "other" ? okAck(heartbeat("x")) : okAck(request, 1n);
        });
        const link = await dial();
        for (const requestId of ["throws", "throws", "other", "bigint"]) {
          expect(await link.request(heartbeat(requestId), 1000)).toEqual({
            kind: "answered",
            ack: { kind: "bus.ack", requestId, ok: false, message: "Telegram bus handler failed." },
          });
        }
        expect(runs).toBe(3);
        expect(counts.of["handler-failed"]).toBe(3);
      }),
    );
    test(
      "protocol/W-25: the ledger holds 4096; full of requests in flight it refuses, and remembers nothing of it",
      within(async ({ serve, dial }) => {
        const open = gate();
        let runs = 0;
        await serve(async (request) => {
          runs += 1;
          await open.promise;
          return okAck(request);
        });
        // Several links: one connection carries a bounded number at a time.
        const links = await Promise.all(Array.from({ length: 33 }, dial));
        const outcomes = Array.from({ length: 4096 }, (_, index) =>
          links[index % 32]!.request(heartbeat(String(index)), 1000),
        );
        await vi.waitFor(() => expect(runs).toBe(4096), waiting);
        expect(await links[32]?.request(heartbeat("one more"), 1000)).toMatchObject({
          kind: "answered",
          ack: { ok: false, message: "Telegram bus request ledger is full.", error: { code: "ledger-overloaded" } },
        });
        open.open();
        await Promise.all(outcomes);
        expect(await links[32]?.request(heartbeat("one more"), 1000)).toMatchObject({
          kind: "answered",
          ack: { ok: true },
        });
      }),
    );
  });

  addressContract(medium, make);
}
