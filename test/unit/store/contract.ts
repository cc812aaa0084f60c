/**
 * What every store does, whatever it is made of.
 *
 * Owns: the behaviour of the `Store` port as examples. Does not own: files, power loss, speed (`sqlite.test.ts`).
 */
import { describe } from "vitest";
import { chatsContract } from "./contract-chats.ts";
import { cleanupsContract } from "./contract-cleanups.ts";
import { deadLettersContract } from "./contract-dead-letters.ts";
import { journalContract } from "./contract-journal.ts";
import { rerouteContract } from "./contract-reroute.ts";
import { leaseContract } from "./contract-lease.ts";
import { offersContract } from "./contract-offers.ts";
import { pairingContract } from "./contract-pairing.ts";
import { threadsKeptContract } from "./contract-threads-kept.ts";
import { threadsContract } from "./contract-threads.ts";
import { workContract } from "./contract-work.ts";
import type { Harness } from "./harness.ts";

export function storeContract(name: string, make: () => Promise<Harness>): void {
  describe(`${name} store: lease`, () => leaseContract(make));
  describe(`${name} store: seats and threads`, () => threadsContract(make));
  describe(`${name} store: what is kept of threads`, () => threadsKeptContract(make));
  describe(`${name} store: chats`, () => chatsContract(make));
  describe(`${name} store: clean-ups`, () => cleanupsContract(make));
  describe(`${name} store: journal`, () => journalContract(make));
  describe(`${name} store: threads that nobody has`, () => rerouteContract(make));
  describe(`${name} store: dead letters`, () => deadLettersContract(make));
  describe(`${name} store: pairing`, () => pairingContract(make));
  describe(`${name} store: queue and offers`, () => offersContract(make));
  describe(`${name} store: work, ownership, status`, () => workContract(make));
}
