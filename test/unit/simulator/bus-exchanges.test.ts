/**
 * What the simulation notes of a follower's yes to a forward: whether the update was its own by then.
 */
import { beforeEach, describe, expect, test } from "vitest";
import { MemoryDatabase } from "../../../adapters/store/memory/index.ts";
import { acquisitionId, generation, instanceId, journalSeq, lane, seatKey, updateId } from "../../../machines/ids.ts";
import type { AnyForwardRequest } from "../../../machines/wire/envelopes.ts";
import type { RequestHandler } from "../../../services/ports.ts";
import { ExchangeNotes, type Server } from "../../../testing/simulator/bus-exchanges.ts";
import { deliveryOf } from "../../support/wire/follower.ts";
import { v1Protocol } from "../../support/wire/leader.ts";

const me = instanceId("1:1");
const seat = seatKey("manual:simulated:a");
const mine = generation("g");
const seq = journalSeq(1);
const update = updateId(7);

const claim = { seat, instanceId: me, generation: mine, acquisition: acquisitionId("a") };
const entry = {
  seq,
  updateId: update,
  lane: lane("thread"),
  body: "{}",
  admittedAtMs: 0,
  attempts: 0,
  nextAttemptAtMs: 0,
  redelivered: false,
  assignedTo: null,
};
const open = { entry, key: "thread", claim: null, offer: null, lastFailure: null };

const forward: AnyForwardRequest = {
  kind: "leader.forwardMessage",
  requestId: "1",
  auth: "secret",
  recipientInstanceId: me,
  recipientRegistrationGeneration: mine,
  delivery: deliveryOf(seat, update),
  sentAtMs: 0,
  message: { message_id: 1, date: 0, chat: { id: 5 }, pi_telegram_source_update_id: update },
  journal: { seq, redelivered: false },
};

describe("a follower's yes to a forward", () => {
  let database: MemoryDatabase;
  let notes: ExchangeNotes;
  let writes: number;

  beforeEach(() => {
    writes = 0;
    database = new MemoryDatabase("simulated");
    database.updates.set(seq, open);
    notes = new ExchangeNotes({ database, writes: () => writes, steps: () => 0, isThreadGone: () => false });
  });

  const isGiven = () => {
    writes += 1;
    database.updates.set(seq, { ...open, claim });
    notes.noteClaim(me, seq);
  };
  const givesBack = () => {
    writes += 1;
    database.updates.set(seq, open);
  };
  /** Says yes, after `meanwhile`. */
  const asked = async (meanwhile: () => void) => {
    const seats = { look: () => undefined, seats: () => [], sitterOf: () => null, wasLive: () => true };
    const membership = { generation: mine, secret: "secret" };
    const server: Server = {
      id: me,
      identity: v1Protocol,
      secret: () => "secret",
      leadsUnder: () => null,
      seats,
      membership: () => membership,
      seat: () => seat,
    };
    const answer: RequestHandler = () => {
      meanwhile();
      return Promise.resolve({ kind: "bus.ack", requestId: forward.requestId, ok: true });
    };
    await notes.serve(answer, server, "follower")(forward, { closed: new Promise(() => undefined) });
    return notes.take().forwards.map(({ isDurable }) => isDurable);
  };

  test("stands for a claim that it made", async () => {
    expect(await asked(isGiven)).toEqual([true]);
  });

  test("stands for a claim that its seat's release gave back before the answer was out", async () => {
    expect(
      await asked(() => {
        isGiven();
        givesBack();
      }),
    ).toEqual([true]);
  });

  test("stands for an update that was ended before", async () => {
    database.updates.delete(seq);
    expect(await asked(() => undefined)).toEqual([true]);
  });

  test("stands for nothing where nothing was claimed", async () => {
    expect(await asked(() => undefined)).toEqual([false]);
  });

  test("stands for nothing where the claim was given back before it was asked", async () => {
    isGiven();
    givesBack();
    expect(await asked(() => undefined)).toEqual([false]);
  });
});
