/**
 * Instances in this process, on an emulator and in a state folder of their own, ended after each test.
 */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach } from "vitest";
import { startEmulator } from "../../../adapters/telegram/emulator/index.ts";
import type { Emulator } from "../../../adapters/telegram/emulator/index.ts";
import { createInstance, readStatus } from "../../../index.ts";
import type { Instance, InstanceOptions, LineStatus } from "../../../index.ts";
import { owner, token } from "./fixtures.ts";

export interface Instances {
  readonly control: () => Emulator["control"];
  /** Options of an instance on this emulator and in this folder. */
  readonly options: (more?: Partial<InstanceOptions>) => InstanceOptions;
  readonly create: (more?: Partial<InstanceOptions>) => Promise<Instance>;
  readonly status: () => Promise<LineStatus>;
  /** The owner writes into a thread; the id of the update that it makes. */
  readonly say: (threadId: number, text: string) => number;
}

/** Waits until it is ready; fails when it has no thread. */
export async function threadOf(instance: Instance): Promise<number> {
  const { thread } = await instance.ready;
  if (thread === null) throw new Error("it has no thread");
  return thread.target.threadId;
}

export function useInstances(): Instances {
  let emulator: Emulator;
  let home: string;
  const instances: Instance[] = [];
  beforeEach(async () => {
    emulator = await startEmulator({ token });
    home = mkdtempSync(path.join(os.tmpdir(), "pl-api-"));
  });
  afterEach(async () => {
    await Promise.all(instances.splice(0).map((instance) => instance.stop()));
    await emulator.close();
    rmSync(home, { recursive: true, force: true });
  });
  const options = (more: Partial<InstanceOptions> = {}): InstanceOptions => ({
    token,
    user: owner,
    home,
    apiRoot: emulator.apiRoot,
    ...more,
  });
  return {
    options,
    control: () => emulator.control,
    status: () => readStatus({ token, home }),
    say: (threadId, text) => emulator.control.userSends({ threadId, text }).updateId ?? 0,
    create: async (more = {}) => {
      const instance = await createInstance(options(more));
      instances.push(instance);
      return instance;
    },
  };
}
