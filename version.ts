/** This package's version; `package.json` says the same, and a test compares them. */
export const version = "0.1.0";
