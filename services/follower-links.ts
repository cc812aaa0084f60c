/**
 * The leader's connections to its followers' endpoints, one pipelined connection for each seat.
 *
 * Owns: dialling, keeping one connection per registration, giving it to whoever forwards.
 * Does not own: what a closed connection means (the seat's chart), the envelopes.
 */
import type { Generation, SeatKey } from "../machines/ids.ts";
import type { Sitter } from "../machines/registration.machine.ts";
import type { Link, Transport } from "./ports.ts";

const dialTimeoutMs = 1_000;

export interface FollowerLinks {
  /** Connects to the one who sits; `onClosed` runs once, when that connection is gone or could not be made. */
  watch(seat: SeatKey, sitter: Sitter, onClosed: () => void): () => void;
  /** The connection of exactly this registration; null when there is none (yet). */
  linkTo(seat: SeatKey, generation: Generation): Promise<Link | null>;
}

interface Watched {
  readonly generation: Generation;
  readonly link: Promise<Link | null>;
}

export function createFollowerLinks(transport: Transport): FollowerLinks {
  const watched = new Map<SeatKey, Watched>();

  const dial = async (address: string): Promise<Link | null> => {
    try {
      return await transport.dial(address, dialTimeoutMs);
    } catch {
      // Nobody there: the caller learns it as a connection that is gone, and its chart looks at the process.
      return null;
    }
  };

  return {
    watch(seat, sitter, onClosed) {
      let watching = true;
      const link = dial(sitter.endpoint);
      const mine: Watched = { generation: sitter.generation, link };
      watched.set(seat, mine);
      const report = (): void => {
        if (watching) onClosed();
      };
      void link.then((opened) => {
        if (opened === null) report();
        else void opened.closed.then(report);
      });
      return () => {
        watching = false;
        if (watched.get(seat) === mine) watched.delete(seat);
        void link.then((opened) => opened?.close());
      };
    },
    linkTo(seat, generation) {
      const found = watched.get(seat);
      return found?.generation === generation ? found.link : Promise.resolve(null);
    },
  };
}
