/**
 * What every transport promises about addresses: publication, succession, recovery. Called through contract.ts.
 */
import { describe, expect, test, vi } from "vitest";
import { heartbeat, okAck } from "./envelopes.ts";
import { disposing, type ContractHarness } from "./contract-harness.ts";
import { gate, waiting } from "./harness.ts";

export function addressContract(medium: string, make: () => ContractHarness): void {
  const within = disposing(make);

  describe(`${medium}: addresses`, () => {
    test(
      "protocol/S-6: dialling nobody rejects at once",
      within(async ({ transport }) => {
        await expect(transport.dial(transport.leaderAddress, 60_000)).rejects.toThrow(/ENOENT/);
      }),
    );
    test(
      "dialling a closed endpoint rejects at once, and its address stays",
      within(async ({ serve, transport }) => {
        const endpoint = await serve();
        await endpoint.close();
        await expect(transport.dial(transport.leaderAddress, 60_000)).rejects.toThrow(/ENOENT|ECONNREFUSED/);
        expect(await endpoint.ensure()).toBe(false);
      }),
    );
    test(
      "§2.8 step 8: not the owner, or no commit: nothing is published",
      within(async ({ serve, transport }) => {
        const lost = "Telegram bus endpoint publication lost transport ownership.";
        await expect(serve(undefined, async () => false)).rejects.toThrow(lost);
        await expect(serve(undefined, async () => true)).rejects.toThrow(lost);
        await expect(serve(undefined, () => Promise.reject(new Error("store is busy")))).rejects.toThrow(
          "store is busy",
        );
        await expect(transport.dial(transport.leaderAddress, 60_000)).rejects.toThrow(/ENOENT/);
      }),
    );
    test(
      "protocol/S-3: old and new server on one address, the old one stops late",
      within(async ({ serve, dial, another }) => {
        const old = await serve(async (request) => okAck(request, "old"));
        await serve(async (request) => okAck(request, "new"), undefined, another());
        await old.close();
        expect(await old.ensure()).toBe(false);
        expect(await (await dial()).request(heartbeat("a"), 1000)).toEqual({
          kind: "answered",
          ack: okAck(heartbeat("a"), "new"),
        });
      }),
    );
    test(
      "protocol/S-4: an old server paused before publication finds a successor",
      within(async ({ serve, dial, another }) => {
        const owner = { name: "old" };
        const paused = gate();
        const reached = gate();
        const old = serve(undefined, async (commit) => {
          reached.open();
          await paused.promise;
          if (owner.name !== "old") return false;
          commit();
          return true;
        });
        await reached.promise;
        owner.name = "new";
        await serve(async (request) => okAck(request, "new"), undefined, another());
        paused.open();
        await expect(old).rejects.toThrow("lost transport ownership");
        expect(await (await dial()).request(heartbeat("a"), 1000)).toEqual({
          kind: "answered",
          ack: okAck(heartbeat("a"), "new"),
        });
      }),
    );
    test(
      "protocol/S-5, E-2, O-18: a vanished address comes back once, links and ledger survive",
      within(async ({ serve, dial, unpublish, counts }) => {
        const slow = gate();
        let runs = 0;
        const endpoint = await serve(async (request) => {
          runs += 1;
          if (request.requestId === "slow") await slow.promise;
          return okAck(request, runs);
        });
        const link = await dial();
        expect(await endpoint.ensure()).toBe(false);
        await link.request(heartbeat("a"), 1000);
        const inFlight = link.request(heartbeat("slow"), 1000);
        await vi.waitFor(() => expect(runs).toBe(2), waiting);
        await unpublish();
        expect(await Promise.all([endpoint.ensure(), endpoint.ensure()])).toEqual([true, true]);
        expect(await endpoint.ensure()).toBe(false);
        expect(counts.of).toEqual({ "endpoint-missing": 1, "endpoint-recovered": 1 });
        slow.open();
        expect((await inFlight).kind).toBe("answered");
        expect(await (await dial()).request(heartbeat("a"), 1000)).toEqual({
          kind: "answered",
          ack: okAck(heartbeat("a"), 1),
        });
        expect(runs).toBe(2);
      }),
    );
    test(
      "protocol/E-4, O-48: a recovery that failed is tried again",
      within(async ({ serve, dial, unpublish, counts }) => {
        const answers = [true, false, true];
        const endpoint = await serve(undefined, async (commit) => {
          const isOwner = answers.shift() ?? true;
          if (isOwner) commit();
          return isOwner;
        });
        await unpublish();
        await expect(endpoint.ensure()).rejects.toThrow("lost transport ownership");
        expect(await endpoint.ensure()).toBe(true);
        expect(counts.of).toEqual({ "endpoint-missing": 2, "endpoint-recovered": 1 });
        expect((await (await dial()).request(heartbeat("a"), 1000)).kind).toBe("answered");
      }),
    );
    test(
      "protocol/E-3, P-18: closed during recovery, nothing is published",
      within(async ({ serve, transport, unpublish }) => {
        const paused = gate();
        const reached = gate();
        let starts = 0;
        const endpoint = await serve(undefined, async (commit) => {
          starts += 1;
          if (starts === 2) {
            reached.open();
            await paused.promise;
          }
          commit();
          return true;
        });
        await unpublish();
        const recovery = endpoint.ensure();
        await reached.promise;
        await endpoint.close();
        paused.open();
        expect(await recovery).toBe(false);
        await expect(transport.dial(transport.leaderAddress, 60_000)).rejects.toThrow(/ENOENT/);
      }),
    );
  });
}
