/**
 * Which line a command is about, and which seat of it.
 *
 * Owns: both, from flags and words. Does not own: where flags come from (`options.ts`).
 */
import type { LineStatus } from "../index.ts";
import { tokenOf, UsageError } from "./options.ts";
import type { LineFlags } from "./options.ts";

export const lineOf = (flags: LineFlags) => ({
  token: tokenOf(flags),
  ...(flags.home === undefined ? {} : { home: flags.home }),
  ...(flags.profile === undefined ? {} : { profile: flags.profile }),
});

/** Uses what was opened, and closes it whatever comes of that. */
export async function closing<Opened extends { close(): Promise<void> }, Result>(
  opening: Promise<Opened>,
  use: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  const opened = await opening;
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}

/** A seat by its key, or by the name at its end when only one seat has it. */
export function seatOf(status: LineStatus, text: string): string {
  const known = [
    ...new Set([...status.seats, ...status.threads, ...status.creations].map((each) => String(each.seat))),
  ];
  if (known.includes(text)) return text;
  const named = known.filter((seat) => seat.endsWith(`:${text}`));
  const [only] = named;
  if (only !== undefined && named.length === 1) return only;
  throw new UsageError(
    named.length === 0
      ? `There is no seat "${text}": partyline threads list shows what there is.`
      : `"${text}" may be ${named.join(" or ")}: give the whole seat.`,
  );
}
