/**
 * A look at the lines of a transport, for whoever shows an exchange to a person.
 *
 * Owns: the shape of that look. Does not own: redaction; lines hold secrets and message texts.
 * Invariants: a tap changes nothing on the wire; without one a line costs a comparison with null.
 */

export interface TappedFrame {
  /** The address that is served or was dialled, unresolved. */
  readonly address: string;
  /** Which end of the connection we are. */
  readonly end: "server" | "client";
  readonly direction: "in" | "out";
  /** As it is on the wire, without its LF; an incoming one may be anything. */
  readonly line: string;
}

/** Must not throw. */
export type FrameTap = (frame: TappedFrame) => void;

/** A tap on one connection. */
export type LineTap = (direction: TappedFrame["direction"], line: string) => void;

export function tapOf(tap: FrameTap | null, address: string, end: TappedFrame["end"]): LineTap | null {
  if (tap === null) return null;
  return (direction, line) => {
    tap({ address, end, direction, line: line.endsWith("\n") ? line.slice(0, -1) : line });
  };
}
