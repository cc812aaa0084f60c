/**
 * The store in memory, for simulation and tests: the behaviour of the SQLite store without the disk.
 *
 * Owns: the composition of the `Store` port. Does not own: its parts. No timers: every answer comes on a microtask.
 */
import type { Clock, Store } from "../../../services/ports.ts";
import { MemoryDatabase, MemoryHandle } from "./database.ts";
import { journalStore } from "./journal.ts";
import { chatStore } from "./chats.ts";
import { cleanupStore } from "./cleanup-store.ts";
import { deadLetterStore } from "./dead-letters.ts";
import { leaseStore } from "./lease.ts";
import { offerStore } from "./offers.ts";
import { seatStore } from "./seats.ts";
import { ownershipStore, statusStore } from "./status.ts";
import { pairingStore } from "./pairing.ts";
import { queueStore } from "./queue.ts";
import { registrationStore } from "./registrations.ts";
import { threadStore } from "./threads.ts";
import { workStore } from "./work.ts";

export { MemoryDatabase } from "./database.ts";

/** A handle on `database`; several handles on one database are several processes on one store. */
export function openMemoryStore(options: { readonly database: MemoryDatabase; readonly clock: Clock }): Store {
  const { database, clock } = options;
  const handle = new MemoryHandle(database);
  return {
    lease: leaseStore(handle, clock),
    seats: seatStore(handle, clock),
    registrations: registrationStore(handle),
    threads: threadStore(handle),
    chats: chatStore(handle),
    cleanups: cleanupStore(handle),
    journal: journalStore(handle),
    work: workStore(handle),
    queue: queueStore(handle),
    offers: offerStore(handle),
    deadLetters: deadLetterStore(handle),
    pairing: pairingStore(handle),
    ownership: ownershipStore(handle),
    status: statusStore(handle, clock),
    close: () => {
      handle.close();
      return Promise.resolve();
    },
  };
}

/** A store of its own. */
export function createMemoryStore(options: { readonly clock: Clock }): Store {
  return openMemoryStore({ database: new MemoryDatabase("memory"), clock: options.clock });
}
