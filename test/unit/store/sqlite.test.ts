import { storeContract } from "./contract.ts";
import { sqliteHarness } from "./on-disk.ts";

storeContract("SQLite", sqliteHarness);
