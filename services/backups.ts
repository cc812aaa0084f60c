/**
 * When the store is backed up: by whoever leads, at most once an hour, and when it stops.
 *
 * Owns: the times. Does not own: the copy (the `Backups` port), its use (`partyline doctor --recover`).
 * Not guaranteed: a line that nobody leads is not backed up; a backup that fails is told in the log and tried at the next look.
 */
import type { Role } from "../machines/role.rules.ts";
import type { BackupOutcome, Backups, Clock, Log } from "./ports.ts";

/** A backup stays for so long before it is replaced. */
export const backupEveryMs = 60 * 60_000;
/** So often a leader looks whether it is time: another leader may have taken one meanwhile. */
export const lookEveryMs = 60_000;

interface Ports {
  readonly backups: Backups;
  readonly clock: Clock;
  readonly log: Log;
}

export class BackupTimes {
  readonly #ports: Ports;
  #timer: unknown = null;
  /** Whether we lead, or led until we stopped. */
  #isLeading = false;
  /** One at a time. */
  #taking: Promise<void> = Promise.resolve();

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** What the instance is now. On the way out it is what it was. */
  tell(role: Role): void {
    if (role === "stopping" || role === "stopped") {
      this.#rest();
      return;
    }
    const isLeading = role === "leader" || role === "classic";
    if (isLeading === this.#isLeading) return;
    this.#isLeading = isLeading;
    if (isLeading) this.#lookLater();
    else this.#rest();
  }

  /** The last backup of whoever led; resolves when none is being taken any more. */
  async close(): Promise<void> {
    this.#rest();
    if (this.#isLeading) this.#take(0);
    this.#isLeading = false;
    await this.#taking;
  }

  /** The first look comes a minute after the start: it is no time for heavy work. */
  #lookLater(): void {
    this.#timer = this.#ports.clock.setTimeout(() => {
      this.#take(backupEveryMs);
      this.#lookLater();
    }, lookEveryMs);
  }

  #rest(): void {
    this.#ports.clock.clearTimeout(this.#timer);
    this.#timer = null;
  }

  #take(notBeforeMs: number): void {
    const { backups } = this.#ports;
    this.#taking = this.#taking.then(async () => {
      this.#report(await backups.take(notBeforeMs));
    });
  }

  #report(outcome: BackupOutcome): void {
    const { log } = this.#ports;
    if (outcome.kind === "failed") log.event("warn", "backup-failed", { reason: outcome.reason });
    if (outcome.kind === "taken") log.event("debug", "backup-taken", { generation: outcome.generation });
  }
}
