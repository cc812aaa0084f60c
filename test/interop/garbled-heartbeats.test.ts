/** A leader whose answers to heartbeats are none: our follower takes that for a failure and registers again (protocol O-7). */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../adapters/host/clock.ts";
import { systemIds } from "../../adapters/host/ids.ts";
import { systemProcesses } from "../../adapters/host/processes.ts";
import { MemoryDatabase, openMemoryStore } from "../../adapters/store/memory/index.ts";
import { instanceId } from "../../machines/ids.ts";
import { capability } from "../../machines/wire/constants.ts";
import { ForeignLeader } from "./lab/foreign-leader.ts";
import { identityOf, openLab } from "./lab/lab.ts";
import { framed } from "./lab/recording.ts";
import { serveScript } from "./lab/sockets.ts";
import { scriptedTelegram } from "./lab/telegram.ts";

const secret = "s".repeat(43);
const capabilities = [capability.durableAdmission, capability.sharedStore];

test.each([
  ["a line that is no envelope", "nonsense\n"],
  ["an envelope that is no answer", '{"kind":"follower.heartbeat","requestId":"x","instanceId":"1:1","sentAtMs":1}\n'],
  ["an answer to something else", '{"kind":"bus.ack","requestId":"x","ok":true}\n'],
  ["the answer for lines that cannot be read", '{"kind":"bus.ack","requestId":"invalid","ok":false}\n'],
  ["nothing", null],
])(
  "protocol/O-7, O-8 a heartbeat that is answered by %s has failed: the follower registers again, under a fresh generation",
  async (_, said) => {
    const folder = mkdtempSync(path.join(os.tmpdir(), "plg-"));
    const endpoint = path.join(folder, "bus.sock");
    let isGarbled = true;
    const leader = await serveScript(endpoint, (line) => {
      const { kind, requestId } = framed(line);
      if (kind === "follower.heartbeat" && isGarbled) return said;
      const registered = {
        protocol: identityOf("0.36.10", capabilities),
        result: { chatId: 7, threadId: 42, slot: "B", threadName: "Beryl" },
      };
      const ack = { kind: "bus.ack", requestId, ok: true };
      return `${JSON.stringify(kind === "follower.register" ? { ...ack, ...registered } : ack)}\n`;
    });
    const store = openMemoryStore({ database: new MemoryDatabase("garbled"), clock: systemClock() });
    const foreign = await ForeignLeader.lead(store, { endpoint, secret, incarnation: systemProcesses().parent() });
    const lab = openLab({
      me: instanceId("2001:1"),
      name: "1",
      secret: "of our own, if we led",
      chat: 7,
      identity: identityOf("0.1.0", capabilities),
      ids: systemIds(),
      telegram: scriptedTelegram(42, () => undefined),
      store,
      folder,
      leaderAddress: endpoint,
      log: { event: () => undefined },
      counters: { count: () => undefined },
      handOut: () => undefined,
      around: foreign.around,
    });
    onTestFinished(async () => {
      await lab.stop();
      await leader.close();
      rmSync(folder, { recursive: true, force: true });
    });
    const generations = (): readonly unknown[] =>
      leader.received
        .map(framed)
        .filter(({ kind }) => kind === "follower.register")
        .map(({ requestId }) => requestId);
    await vi.waitFor(() => expect(generations().length).toBeGreaterThan(1), { timeout: 15_000, interval: 10 });
    isGarbled = false;
    await vi.waitFor(
      () => expect(lab.instance.actor.getSnapshot().matches({ online: { following: "joined" } })).toBe(true),
      { timeout: 15_000, interval: 10 },
    );
    expect(new Set(generations()).size).toBe(generations().length);
  },
  40_000,
);
