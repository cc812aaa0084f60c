/**
 * The store on SQLite: one file per profile, shared by the processes of one host.
 *
 * Owns: the composition of the `Store` port from its parts. Does not own: any of them.
 * Not guaranteed: time is the wall clock of the `Clock` port, so a wall clock that jumps moves the end of a lease.
 */
import type { Clock, Store } from "../../../services/ports.ts";
import type { Refused } from "../errors.ts";
import { chatStore } from "./chats.ts";
import { Connection } from "./connection.ts";
import { journalStore } from "./journal.ts";
import { cleanupStore } from "./cleanup-store.ts";
import { deadLetterStore } from "./dead-letters.ts";
import { leaseStore } from "./lease.ts";
import { openDatabase } from "./open.ts";
import { offerStore } from "./offers.ts";
import { ownershipStore } from "./ownership.ts";
import { pairingStore } from "./pairing.ts";
import { queueStore } from "./queue.ts";
import { registrationStore } from "./registrations.ts";
import { seatStore } from "./seats.ts";
import { statusStore } from "./status.ts";
import { threadStore } from "./threads.ts";
import { workStore } from "./work.ts";

export type { Refused } from "../errors.ts";
export { StoreError } from "../errors.ts";

/**
 * Opens the profile's store, making it on the first start.
 *
 * Resolves with `refused` and one sentence for the user when it cannot be used as it is; then nothing was changed but
 * that missing folders were made. Rejects only for broken invariants.
 */
export async function openSqliteStore(options: {
  readonly folder: string;
  readonly clock: Clock;
}): Promise<Store | Refused> {
  const opened = await openDatabase(options.folder, options.clock);
  if (opened.kind === "refused") return opened;
  const connection = new Connection(opened.db);
  const { clock } = options;
  return {
    lease: leaseStore(connection, clock),
    seats: seatStore(connection, opened.profileId, clock),
    registrations: registrationStore(connection),
    threads: threadStore(connection),
    chats: chatStore(connection),
    cleanups: cleanupStore(connection),
    journal: journalStore(connection),
    work: workStore(connection, clock),
    queue: queueStore(connection),
    offers: offerStore(connection),
    deadLetters: deadLetterStore(connection),
    pairing: pairingStore(connection),
    ownership: ownershipStore(connection, clock),
    status: statusStore(connection, clock),
    close: () =>
      new Promise((resolve) => {
        connection.close();
        resolve();
      }),
  };
}
