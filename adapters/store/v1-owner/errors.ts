/** Error codes of the file system, by what they mean here. */

export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

export const isAbsent = (error: unknown): boolean => codeOf(error) === "ENOENT";

/** Somebody else has the file open (Windows), or is just replacing it. */
export const isSharing = (error: unknown): boolean => ["EPERM", "EBUSY", "EACCES"].includes(codeOf(error));
