/**
 * The leader's own thread as a companion of the activation chart: carries what speaks against it to the chart, and the end of
 * that back.
 *
 * Owns: that whoever waits is told, also when the leadership ends meanwhile. Does not own: what becomes of the thread.
 */
import { fromCallback } from "xstate";
import type { OwnThreadFact, OwnThreadSettled } from "../machines/activation.machine.ts";
import type { Runtime } from "./runtime.ts";
import { reopenAsLeader } from "./reopen.ts";
import { takeBackAsLeader } from "./take-back.ts";
import type { ThreadKeeper } from "./thread-sends.ts";

export function provideOwnThread(runtime: Runtime) {
  return fromCallback<OwnThreadSettled>(({ receive, sendBack }) => {
    const { board } = runtime;
    const seat = board.place?.seat;
    if (seat === undefined) return undefined;
    const waiting = new Set<() => void>();
    const settle = (): void => {
      for (const tell of waiting) tell();
      waiting.clear();
    };
    const keeper: ThreadKeeper = {
      seat,
      current: () => board.place?.thread?.target ?? null,
      hasThreads: () => board.topics?.areOff !== true,
      doubt: (doubt) => {
        if (board.keeper !== keeper) return Promise.resolve();
        return new Promise((resolve) => {
          waiting.add(resolve);
          sendBack({ type: "thread.doubted", doubt } satisfies OwnThreadFact);
        });
      },
      reopen: (target) => reopenAsLeader(runtime, target),
      takeBack: (messages) => takeBackAsLeader(runtime, messages),
    };
    board.keeper = keeper;
    receive(settle);
    return () => {
      if (board.keeper === keeper) board.keeper = null;
      settle();
    };
  });
}
