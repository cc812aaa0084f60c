/**
 * The failure of a publication whose owner was no longer the owner (protocol §2.8, step 8).
 *
 * Owns: its text, the same on every medium. It is thrown by `listen` and `ensure`, and never travels.
 */
export const lostOwnership = "Telegram bus endpoint publication lost transport ownership.";
