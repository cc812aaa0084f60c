/**
 * Serves a named pipe of Windows (protocol §2.9, O-21).
 *
 * Owns: who may listen, and what happens while somebody else does. Does not own: connections, which pipe it is (address.ts).
 * Invariants:
 *  - a pipe has no folder, no link and no recovery: whoever listens has it, until it closes;
 *  - listening begins inside the owner's `commit`, so that nobody begins who is no longer the owner;
 *  - a pipe that somebody else still has is asked for again for `triesMax` times, with a fresh look at ownership each.
 */
import type net from "node:net";
import { lostOwnership } from "../wire/ownership.ts";
import { codeOf } from "./errors.ts";
import { newServer, type Publication, type PublicationContext, type PublicationRequest } from "./publication.ts";

const triesMax = 20;
const tryEveryMs = 100;

const isTaken = (error: unknown): boolean => ["EADDRINUSE", "EACCES", "EBUSY"].includes(codeOf(error));

async function listenOnce(request: PublicationRequest, context: PublicationContext): Promise<net.Server> {
  const { server, listening } = newServer(request.onConnection, context.counters);
  // Looked at below; until then its failure must not be unhandled.
  listening.catch(() => undefined);
  const begun = { times: 0 };
  try {
    const isOwner = await request.publish(() => {
      if (begun.times > 0 || !request.isWanted()) return;
      begun.times += 1;
      server.listen({ path: context.pipePlace(request.stablePath) });
    });
    if (!isOwner || begun.times === 0) throw new Error(lostOwnership);
    await listening;
    return server;
  } catch (error) {
    server.close();
    throw error;
  }
}

/** A listening server behind `stablePath`, a pipe. Rejects as `bindAndPublish` does, and when the pipe stays taken. */
export async function bindPipe(request: PublicationRequest, context: PublicationContext): Promise<Publication> {
  for (let tries = 1; ; tries += 1) {
    try {
      return { stablePath: request.stablePath, server: await listenOnce(request, context) };
    } catch (error) {
      if (!isTaken(error) || tries >= triesMax) throw error;
      await new Promise<void>((resolve) => void context.clock.setTimeout(resolve, tryEveryMs));
    }
  }
}
