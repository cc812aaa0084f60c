/**
 * The order of keys, the same in both stores: by UTF-8 bytes, as SQLite's BINARY collation has it.
 */
export const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a, "utf8"), Buffer.from(b, "utf8"));
