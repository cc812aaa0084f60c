/** `partyline emulator`: the Bot API emulator by itself, with its chat page and control API. */
import { startEmulator } from "../adapters/telegram/emulator/index.ts";

export interface EmulatorFlags {
  readonly port: number;
  readonly token: string;
  readonly owner: number;
}

export async function runEmulator(flags: EmulatorFlags): Promise<number> {
  const emulator = await startEmulator({
    token: flags.token,
    port: flags.port,
    owner: { id: flags.owner, first_name: "Owner" },
  });
  console.log(`API root     ${emulator.apiRoot}`);
  console.log(`Chat page    ${emulator.pageUrl}`);
  console.log(`Control API  ${emulator.controlUrl}`);
  console.log(`Token        ${flags.token} (any bot may use it here; it means nothing to Telegram)`);
  console.log(`User         ${String(flags.owner)}`);
  await new Promise<void>((resolve) => {
    process.once("SIGINT", () => {
      resolve();
    });
    process.once("SIGTERM", () => {
      resolve();
    });
  });
  await emulator.close();
  return 0;
}
