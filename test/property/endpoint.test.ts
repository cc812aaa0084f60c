/** Random starts, recoveries and stops of real unix endpoints in one folder, with real sockets, judged after every step. */
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createUnixTransport } from "../../adapters/transport/unix/transport.ts";
import { judgeOf } from "../../machines/invariants.ts";
import type { EndpointStepView } from "../../machines/invariants.ts";
import type { Endpoint, Transport } from "../../services/ports.ts";
import { fixedSeed, freshSeed } from "../support/property/walks.ts";
import { Counts, echo } from "../unit/transport/support/harness.ts";
import { ManualClock } from "../unit/transport/support/manual-clock.ts";
import { endpointParts } from "./wire-parts.ts";

const judge = judgeOf(endpointParts);
const places = ["p1", "p2"] as const;
type Place = (typeof places)[number];

/** What happens while a publication waits for its turn in the owner's transaction. */
type Meanwhile = "nothing" | "ownerChanges" | "stop";

interface Served {
  readonly endpoint: Endpoint;
  /** Its socket, by the last publication. */
  socket: string | null;
}

const accepts = (socket: string): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = net.connect({ path: socket });
    probe.once("connect", () => {
      probe.destroy();
      resolve(true);
    });
    probe.once("error", () => resolve(false));
  });

/** Two processes that share a folder, one of which is the owner. */
class EndpointWorld {
  owner: Place = "p1";
  readonly counts = { start: 0, recover: 0, stop: 0, published: 0, stoppedMeanwhile: 0, refused: 0 };
  private readonly root = mkdtempSync(path.join(os.tmpdir(), "pt-"));
  private readonly folder = path.join(this.root, "state");
  private readonly transports: ReadonlyMap<Place, Transport>;
  private readonly served = new Map<Place, Served>();
  private commits: EndpointStepView["commits"][number][] = [];
  /** Ends the wait of a publication that has come up. */
  private meanwhile: (by: Place) => Promise<void> = () => Promise.resolve();

  constructor() {
    const { folder, root: tmpFolder } = this;
    const open = () => createUnixTransport({ folder, tmpFolder, clock: new ManualClock(), counters: new Counts() });
    this.transports = new Map(places.map((place) => [place, open()]));
    mkdirSync(folder, { mode: 0o700 });
  }

  /** Judged; the names of what is broken. */
  async act(what: EndpointStepView["what"], by: Place, meanwhile: Meanwhile): Promise<readonly string[]> {
    const served = this.served.get(by);
    if ((served === undefined) !== (what === "start")) return [];
    const before = this.leadsTo();
    const wasReachable = existsSync(this.stable);
    const others = await this.answering(by);
    this.commits = [];
    this.meanwhile = (who) => this.interfere(who, meanwhile);
    const isDone = await this.perform(what, by, served);
    const after = this.leadsTo();
    const answering = await this.answering(by);
    this.counts[what] += 1;
    return judge({
      endpointSteps: [
        {
          what,
          by,
          before,
          after,
          wasReachable,
          commits: this.commits,
          isBlocked: what === "start" && !isDone && this.owner === by && meanwhile !== "stop",
          othersLost: others.filter((each) => !answering.includes(each)).length,
          outlivesStop: await this.hasStray(),
        },
      ],
    });
  }

  /** Somebody clears a folder: of the path, or of what it leads to. */
  clear(what: "path" | "socket"): void {
    const socket = this.leadsTo();
    if (what === "path") rmSync(this.stable, { force: true });
    else if (socket !== null) rmSync(path.join(this.folder, socket), { force: true });
  }

  async dispose(): Promise<void> {
    for (const { endpoint } of this.served.values()) await endpoint.close();
    rmSync(this.root, { recursive: true, force: true });
  }

  private get stable(): string {
    return path.join(this.folder, "bus.sock");
  }

  private leadsTo(): string | null {
    return lstatSync(this.stable, { throwIfNoEntry: false }) === undefined ? null : readlinkSync(this.stable);
  }

  private async perform(what: EndpointStepView["what"], by: Place, served: Served | undefined): Promise<boolean> {
    const failed = (error: unknown): false => {
      expect(String(error)).toContain("lost transport ownership");
      this.counts.refused += 1;
      return false;
    };
    if (served === undefined) return this.start(by).then(() => true, failed);
    if (what === "recover") return served.endpoint.ensure().catch(failed);
    await this.stop(by);
    return true;
  }

  private async start(by: Place): Promise<void> {
    const transport = this.transports.get(by);
    if (transport === undefined) throw new Error(`there is no ${by}`);
    const socket: { name: string | null } = { name: null };
    const publish = async (commit: () => void): Promise<boolean> => {
      await this.meanwhile(by);
      if (this.owner !== by) return false;
      socket.name = this.watch(by, commit);
      const own = this.served.get(by);
      if (own !== undefined) own.socket = socket.name;
      return true;
    };
    const endpoint = await transport.listen({ address: transport.leaderAddress, handle: echo, publish });
    this.served.set(by, { endpoint, socket: socket.name });
  }

  private async stop(by: Place): Promise<void> {
    const served = this.served.get(by);
    this.served.delete(by);
    await served?.endpoint.close();
  }

  /** The commit, with what is at the path before and after it. */
  private watch(by: Place, commit: () => void): string | null {
    const links = readdirSync(this.folder).filter((name) => name.includes(".link."));
    const inodes = links.map((name) => lstatSync(path.join(this.folder, name)).ino);
    const from = this.leadsTo();
    const wasStopped = this.started.has(by) && !this.served.has(by);
    commit();
    const to = this.leadsTo();
    const isRename = to !== null && inodes.includes(lstatSync(this.stable).ino);
    this.commits.push({ owner: this.owner, isRename, wasStopped, from, to });
    if (from !== to) this.counts.published += 1;
    return to;
  }

  /** Places whose endpoint was there when the step began. */
  private started = new Set<Place>();

  private async interfere(by: Place, meanwhile: Meanwhile): Promise<void> {
    this.started = new Set(this.served.keys());
    if (meanwhile === "ownerChanges") this.owner = places.find((each) => each !== by) ?? by;
    if (meanwhile !== "stop" || !this.served.has(by)) return;
    await this.stop(by);
    this.counts.stoppedMeanwhile += 1;
  }

  /** Sockets of all but one place that are there and accept. */
  private async answering(but: Place): Promise<readonly string[]> {
    const names = [...this.served].flatMap(([place, { socket }]) => (place === but || socket === null ? [] : [socket]));
    const found: string[] = [];
    for (const name of names) if (await accepts(path.join(this.folder, name))) found.push(name);
    return found;
  }

  /** A socket accepts that no open endpoint has. */
  private async hasStray(): Promise<boolean> {
    const known = new Set([...this.served.values()].map(({ socket }) => socket));
    for (const name of readdirSync(this.folder))
      if (name.startsWith(".pt-") && !known.has(name) && (await accepts(path.join(this.folder, name)))) return true;
    return false;
  }
}

const place = fc.constantFrom(...places);
const acts = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        act: fc.constantFrom("start", "start", "recover", "recover", "recover", "stop"),
        by: place,
        meanwhile: fc.constantFrom("nothing", "nothing", "ownerChanges", "stop", "stop"),
      }),
    },
    { weight: 1, arbitrary: fc.record({ act: fc.constant("elect"), by: place }) },
    { weight: 3, arbitrary: fc.record({ act: fc.constant("clear"), what: fc.constantFrom("path", "socket") }) },
  ),
  { maxLength: 40, size: "max" },
);

describe("unix endpoints in one folder", { timeout: 120_000 }, () => {
  it.each([
    ["of a fixed seed", fixedSeed],
    ["of a fresh seed", freshSeed],
  ])("protocol/P-16, P-17, P-18: no walk %s breaks what they promise each other", async (_, seed) => {
    const met = { start: 0, recover: 0, stop: 0, published: 0, stoppedMeanwhile: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(acts, async (steps) => {
        const world = new EndpointWorld();
        try {
          for (const step of steps) {
            if ("what" in step) world.clear(step.what);
            else if (!("meanwhile" in step)) world.owner = step.by;
            else expect(await world.act(step.act, step.by, step.meanwhile)).toEqual([]);
          }
        } finally {
          await world.dispose();
        }
        for (const [kind, times] of Object.entries(world.counts)) met[kind as keyof typeof met] += times;
      }),
      { numRuns: 60, seed },
    );
    // Else this says little.
    for (const [kind, times] of Object.entries(met)) expect(times, kind).toBeGreaterThan(3);
  });
});
