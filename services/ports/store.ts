/** The store: everything durable that the instances of one line share. */
import type { CleanupStore } from "./cleanups.ts";
import type { DeadLetterStore } from "./dead-letters.ts";
import type { JournalStore, OwnershipStore, WorkStore } from "./journal.ts";
import type { LeaseStore } from "./lease.ts";
import type { PairingStore } from "./pairing.ts";
import type { OfferStore, QueueStore } from "./queue.ts";
import type { RegistrationStore, SeatStore } from "./seats.ts";
import type { StatusStore } from "./status.ts";
import type { ChatStore, ThreadStore } from "./threads.ts";

export interface Store {
  readonly lease: LeaseStore;
  readonly seats: SeatStore;
  readonly registrations: RegistrationStore;
  readonly threads: ThreadStore;
  readonly chats: ChatStore;
  readonly cleanups: CleanupStore;
  readonly journal: JournalStore;
  readonly work: WorkStore;
  readonly queue: QueueStore;
  readonly offers: OfferStore;
  readonly deadLetters: DeadLetterStore;
  readonly pairing: PairingStore;
  readonly ownership: OwnershipStore;
  readonly status: StatusStore;
  close(): Promise<void>;
}
