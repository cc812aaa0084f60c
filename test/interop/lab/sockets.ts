/**
 * Peers of a replay, down at the socket: a client that sends one line on a connection of its own, and a server that
 * answers lines as a script says.
 */
import { mkdirSync } from "node:fs";
import net from "node:net";
import path from "node:path";

/** Sends bytes on a fresh connection, waits for one line, closes. Rejects when the server closes first, or after 10 s. */
export function exchangeOnce(socketPath: string, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ path: socketPath });
    let text = "";
    socket.setEncoding("utf8");
    socket.setTimeout(10_000, () => {
      reject(new Error(`no answer from ${socketPath} to ${bytes}`));
      socket.destroy();
    });
    socket.on("data", (chunk: string) => {
      text += chunk;
      const end = text.indexOf("\n");
      if (end < 0) return;
      resolve(text.slice(0, end + 1));
      socket.destroy();
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`${socketPath} closed without an answer`)));
    socket.write(bytes);
  });
}

export interface ScriptedServer {
  /** Every line received, LF included. */
  readonly received: readonly string[];
  close(): Promise<void>;
}

/** Serves a socket: `answer` gives the bytes for a line, or null for none. */
export async function serveScript(
  socketPath: string,
  answer: (line: string) => string | null | Promise<string | null>,
): Promise<ScriptedServer> {
  mkdirSync(path.dirname(socketPath), { recursive: true });
  const received: string[] = [];
  const sockets = new Set<net.Socket>();
  const onLine = async (socket: net.Socket, line: string): Promise<void> => {
    received.push(`${line}\n`);
    const bytes = await answer(line);
    if (bytes !== null && socket.writable) socket.write(bytes);
  };
  const server = net.createServer((socket) => {
    let rest = "";
    sockets.add(socket);
    socket.setEncoding("utf8");
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) void onLine(socket, line);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(socketPath, resolve);
  });
  return {
    received,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
