/**
 * Building blocks of the envelope schemas (protocol §2.11, §2.12).
 *
 * Owns: how one field is read: what an optional field of the wrong type means, targets, identities, brands.
 * Does not own: which kind has which fields (schemas.ts).
 * Invariants:
 *  - `lenient` fields of a wrong type are as good as absent (V-3); only fields marked "rejects" use plain `.optional()`;
 *  - a parsed record holds no key whose value is undefined, so absent is absent everywhere (V-5) and in the fingerprint.
 */
import { z } from "zod";
import type { ChatId, Generation, InstanceId, JournalSeq, SeatKey, ThreadId, UpdateId } from "../../../machines/ids.ts";

/** A whitelist (V-2): unknown keys are dropped, and so are keys whose value was dropped. */
export const record = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.object(shape).overwrite((value) => {
    const entries: Record<string, unknown> = value;
    for (const key of Object.keys(entries)) if (entries[key] === undefined) Reflect.deleteProperty(entries, key);
    return value;
  });

/** Optional; a wrong type counts as absent. */
export const lenient = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);

/** A plain value becomes an identity here, where it enters: the brand exists at compile time only, hence the casts. */
const branded = <Brand>(schema: z.ZodType) => schema as z.ZodType<Brand>;

export const instanceIdField = branded<InstanceId>(z.string());
export const generationField = branded<Generation>(z.string());
export const seatKeyField = branded<SeatKey>(z.string().min(1));
export const chatIdField = branded<ChatId>(z.number());
export const threadIdField = branded<ThreadId>(z.number());

export const safeInt = z.int();
export const positiveSafeInt = z.int().positive();
export const naturalSafeInt = z.int().nonnegative();
export const integer = z.number().refine(Number.isInteger);
export const nonBlank = z.string().refine((text) => text.trim() !== "");
export const updateIdField = branded<UpdateId>(naturalSafeInt);
export const journalSeqField = branded<JournalSeq>(positiveSafeInt);

/** V-4: a wrong `threadId` is dropped, not rejected. */
export const target = record({ chatId: chatIdField, threadId: lenient(threadIdField) });
export const threadTarget = record({ chatId: chatIdField, threadId: threadIdField });

const isAscending = (items: readonly string[]): boolean =>
  items.every((item, index) => index === 0 || (items[index - 1] ?? "") < item);

/** §2.11; used only through `lenient`, because an invalid identity is an absent one. */
export const protocolIdentity = record({
  protocolVersion: positiveSafeInt,
  runtimeBuild: z
    .string()
    .min(1)
    .max(128)
    .refine((text) => text === text.trim()),
  capabilities: z
    .array(
      z
        .string()
        .max(128)
        .regex(/^[a-z0-9][a-z0-9._-]*$/),
    )
    .max(32)
    .refine(isAscending),
});
