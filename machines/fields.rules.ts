/**
 * Looking into what came from outside: nothing is believed before it was looked at.
 *
 * Owns: the two looks that every reader of updates takes. Does not own: what any update means.
 */
export type Fields = Readonly<Record<string, unknown>>;

/** An object's members by name; what they hold stays unknown. Null for everything that is no object. */
export const fieldsOf = (value: unknown): Fields | null =>
  // After this check the members may be read by name.
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;

export const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);
