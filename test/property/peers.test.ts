/** Random offers and message calls of v1 and own followers at a real leader, judged after every step. */
import { describe, expect, it } from "vitest";
import { generation, instanceId, seatKey } from "../../machines/ids.ts";
import type { SeatKey } from "../../machines/ids.ts";
import { judgeOf } from "../../machines/invariants.ts";
import type { MessageChangeView, OfferEndView, OfferRelayView } from "../../machines/invariants.ts";
import { capability } from "../../machines/wire/constants.ts";
import type { Ack } from "../../machines/wire/envelopes.ts";
import { createRandom } from "../../testing/simulator/random.ts";
import type { Random } from "../../testing/simulator/random.ts";
import { fixedSeed, freshSeed } from "../support/property/walks.ts";
import { owner, ownCapabilities, seated, secret, startLeader, v1Protocol } from "../support/wire/leader.ts";
import type { LeaderWorld, V1Peer } from "../support/wire/leader.ts";
import { offerOf } from "../support/wire/offers.ts";
import { peerParts } from "./wire-parts.ts";

const judge = judgeOf(peerParts);
const changing = ["editMessageText", "editMessageReplyMarkup", "deleteMessage"] as const;

interface Member {
  readonly peer: V1Peer;
  readonly thread: number;
  readonly seat: SeatKey;
  readonly capabilities: readonly string[];
}

/** A leader, its followers, and which seat sent which message. */
class PeersWorld {
  readonly counts = { relayed: 0, refusedOffers: 0, changed: 0, refusedChanges: 0, successors: 0, registrations: 0 };
  private readonly world: LeaderWorld;
  private readonly random: Random;
  private readonly members: Member[] = [];
  private readonly senders = new Map<number, SeatKey>();
  private pids = 2000;

  constructor(world: LeaderWorld, random: Random) {
    this.world = world;
    this.random = random;
  }

  async open(): Promise<void> {
    for (const seat of ["a", "b", "c"]) await this.join(seatKey(`manual:${seat}`), v1Protocol.capabilities);
    await this.join(seatKey("manual:unable"), [capability.durableAdmission]);
    for (const seat of ["x", "y"]) await this.join(seatKey(`manual:${seat}`), ownCapabilities);
  }

  /** One random thing that somebody does; the names of what is broken. */
  async act(): Promise<readonly string[]> {
    const { random } = this;
    const member = random.pick(this.members);
    switch (
      random.pick(["say", "change", "change", "change", "offer", "offer", "offer", "register", "leave"] as const)
    ) {
      case "say":
        return this.say(member);
      case "change":
        return this.change(member);
      case "offer":
        return this.offer(member, random.pick(this.members));
      case "register":
        this.counts.registrations += 1;
        await member.peer.register();
        return [];
      case "leave":
        return random.chance(0.3) ? this.succeed(member) : [];
    }
  }

  private async join(seat: SeatKey, capabilities: readonly string[]): Promise<void> {
    this.pids += 1;
    const isOwn = capabilities.includes(capability.sharedStore);
    const peer = await seated(this.world, { pid: this.pids, profileKey: seat, capabilities, isOwn });
    this.members.push({ peer, thread: peer.thread, seat, capabilities });
  }

  /** It leaves, and another process comes for its seat. */
  private async succeed(member: Member): Promise<readonly string[]> {
    const { ok } = await member.peer.disconnect();
    if (!ok) return [];
    this.members.splice(this.members.indexOf(member), 1);
    await this.join(member.seat, member.capabilities);
    this.counts.successors += 1;
    return [];
  }

  private async say({ peer, thread, seat }: Member): Promise<readonly string[]> {
    const { ok, result } = await peer.call("sendMessage", { chat_id: owner, message_thread_id: thread, text: "a" });
    // The scripted Telegram answers a message.
    if (ok) this.senders.set((result as { readonly message_id: number }).message_id, seat);
    return [];
  }

  private async change({ peer, seat }: Member): Promise<readonly string[]> {
    const { random, world } = this;
    const known = [...this.senders.keys()];
    const own = known.filter((id) => this.senders.get(id) === seat);
    const id = random.pick([...(random.chance(0.5) && own.length > 0 ? own : known), 7_000]);
    const from = world.telegram.calls.length;
    const isText = random.chance(0.3);
    const body = { chat_id: isText ? String(owner) : owner, message_id: isText ? String(id) : id, text: "b" };
    const { ok } = await peer.call(random.pick(changing), body);
    const messageChanges: MessageChangeView[] = world.telegram.calls
      .slice(from)
      .filter(({ method }) => changing.some((each) => each === method))
      .map(({ payload: { message_id: changed } }) => ({ by: seat, sender: this.senders.get(Number(changed)) ?? null }));
    this.counts.changed += messageChanges.length;
    if (!ok) this.counts.refusedChanges += 1;
    return judge({ offerRelays: [], messageChanges });
  }

  private async offer(donor: Member, recipient: Member): Promise<readonly string[]> {
    const { random, members } = this;
    const stale = generation("an earlier one");
    const request = offerOf(donor.peer, recipient.peer, {
      ...(random.chance(0.15) ? { registrationGeneration: stale } : {}),
      ...(random.chance(0.1) ? { auth: "x".repeat(43) } : { auth: secret }),
      recipientInstanceId: random.chance(0.1) ? instanceId("9:1") : recipient.peer.id,
      recipientRegistrationGeneration: random.chance(0.15) ? stale : recipient.peer.generation,
    });
    const seen = members.map(({ peer }) => peer.received.length);
    const { ok }: Ack = await donor.peer.send(request);
    if (!ok) this.counts.refusedOffers += 1;
    const offerRelays = members.flatMap((member, n): readonly OfferRelayView[] =>
      member.peer.received.slice(seen[n]).flatMap((arrived) => {
        if (arrived.kind !== "leader.offerQueueHandoff") return [];
        return [
          {
            reached: member.peer.id,
            donorNamed: arrived.donorInstanceId,
            donor: endOf(donor, request.registrationGeneration),
            recipient: {
              ...endOf(recipient, request.recipientRegistrationGeneration),
              id: request.recipientInstanceId,
            },
          },
        ];
      }),
    );
    this.counts.relayed += offerRelays.length;
    return judge({ offerRelays, messageChanges: [] });
  }
}

const endOf = ({ peer, capabilities }: Member, presented: OfferEndView["presented"]): OfferEndView => ({
  id: peer.id,
  capabilities,
  presented,
  acknowledged: peer.generation,
});

describe("followers at a leader", { timeout: 120_000 }, () => {
  it.each([
    ["of a fixed seed", fixedSeed],
    ["of a fresh seed", freshSeed],
  ])("protocol/P-45, P-49: no walk %s brings an offer or a change of a message where it must not", async (_, seed) => {
    const world = new PeersWorld(await startLeader(), createRandom(seed));
    await world.open();
    for (let step = 0; step < 600; step += 1) expect([seed, step, await world.act()]).toEqual([seed, step, []]);
    // Else this says little.
    for (const [kind, times] of Object.entries(world.counts)) expect(times, kind).toBeGreaterThan(5);
  });
});
