/** Schema 4: the note on polling names the leadership that wrote it, so that nobody takes an old one for the present. Additive. */
export const migration004 = { version: 4, sql: "ALTER TABLE polling ADD COLUMN epoch INTEGER" } as const;
