/**
 * Limits and numbers that both stores obey.
 *
 * Owns: how much a store keeps and for how long, and the compatibility number. Does not own: what callers do at a limit.
 */

/** Open entries (waiting or claimed) a journal holds; an admission that would exceed it answers `full`. */
export const journalEntriesMax = 100_000;

/** How long a settled update is remembered. Telegram keeps updates for 24 h, backups are at most 7 days old. */
export const tombstoneKeepMs = 8 * 24 * 60 * 60 * 1000;

/** A backup older than this still serves a recovery, which says so: tombstones do not reach back that far for all it holds. */
export const backupKeepMs = 7 * 24 * 60 * 60 * 1000;

/** How long an offer that was accepted or has ended is remembered, so that late repetitions change nothing. */
export const offerKeepMs = 60 * 60 * 1000;

/**
 * Expired tombstones removed by one admission, besides one for each admitted update: removal keeps up with arrival, and
 * no admission pays for a long absence. Expired tombstones that still lie there are not looked at.
 */
export const tombstonePrunedMax = 32;

/**
 * Compatibility of a store with the code that opens it, apart from the package version. Processes of one number share a
 * store; code never opens a store with a higher number than its own.
 */
export const compatibility = 1;

/** What `status` shows before any leader has noted its polling. */
export const pollingUnknown = { okAtMs: null, health: "not polled yet" } as const;

/** Whether a tombstone of `settledAtMs` still counts at `nowMs`. */
export const isRemembered = (settledAtMs: number, nowMs: number): boolean => settledAtMs > nowMs - tombstoneKeepMs;

/**
 * Whose a message is, is remembered for the latest so many message ids of a chat: buttons and reactions on older ones belong
 * to nobody but the owner of their thread. Ids ascend with time, so no age has to be kept.
 */
export const ownedMessageIdsMax = 100_000;

/** What was seen of threads: the newest are kept. Thread ids are never given again, so an old one tells nothing new. */
export const observationsMax = 5_000;
/** How long an answer to the operator waits to be read. */
export const operatorAnswerKeepMs = 24 * 3_600_000;
