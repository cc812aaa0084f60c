/** Chats that have become others, in memory. */
import { isNewMove } from "../../../machines/chats.rules.ts";
import type { ChatStore } from "../../../services/ports.ts";
import type { MemoryHandle } from "./database.ts";

export function chatStore(handle: MemoryHandle): ChatStore {
  const { chatMoves } = handle.db;
  return {
    moves: () => handle.run(() => [...chatMoves]),

    move: ({ epoch, from, to, atMs }) =>
      handle.runAsLeader(epoch, () => {
        if (!isNewMove({ from, to }, chatMoves)) return { kind: "known" } as const;
        chatMoves.push({ from, to, atMs });
        return { kind: "moved" } as const;
      }),
  };
}
