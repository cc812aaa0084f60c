/**
 * A server that misbehaves on command.
 *
 * Owns: one loopback server per test and the list of requests it saw. Does not own: anything of the Bot API; each test
 * scripts the answer to each request.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createTcpServer, type Server as TcpServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export const token = `987654321:${"AbC-_9".repeat(6)}`;

export interface Seen {
  readonly path: string;
  readonly body: string;
  readonly socket: Socket;
}

export type Answer = (res: ServerResponse, seen: Seen) => void;

export interface Stub {
  readonly root: string;
  readonly seen: readonly Seen[];
  /** Resolves once the n-th request (from 1) has been read. */
  request(n: number): Promise<Seen>;
}

export const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Answer =>
  (res) => {
    res.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  };

export const page =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (res) => {
    res.writeHead(status, { "content-type": "text/html", ...headers }).end(`<html>${status}</html>`);
  };

/** Serves `answers` in turn, the last one for ever; `serve` makes the server, plain HTTP by default. */
export async function startStub(
  answers: readonly Answer[],
  serve: (listener: RequestListener) => Server = (listener) => createServer(listener),
): Promise<Stub> {
  const seen: Seen[] = [];
  const waiting = new Map<number, (seen: Seen) => void>();
  const server = serve((req, res) => {
    void readBody(req).then((body) => {
      const one = { path: req.url ?? "", body, socket: req.socket };
      seen.push(one);
      waiting.get(seen.length)?.(one);
      answers[Math.min(seen.length, answers.length) - 1]?.(res, one);
    });
  });
  const port = await listen(server);
  onTestFinished(() => server.closeAllConnections());
  return {
    root: `http://127.0.0.1:${port}`,
    seen,
    request: (n) => {
      const known = seen[n - 1];
      return known === undefined ? new Promise((resolve) => waiting.set(n, resolve)) : Promise.resolve(known);
    },
  };
}

/** A TCP server that does as told with each connection. Returns its port. */
export async function startTcp(onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    onConnection(socket);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return await listen(server);
}

/** A port on which nothing listens: it was just given back. */
export async function unusedPort(): Promise<number> {
  const server = createTcpServer();
  const port = await new Promise<number>((resolve) => server.listen(0, "127.0.0.1", () => resolve(portOf(server))));
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function listen(server: Server | TcpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return portOf(server);
}

function portOf(server: Server | TcpServer): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return address.port;
}

async function readBody(req: IncomingMessage): Promise<string> {
  const chunks: string[] = [];
  for await (const chunk of req) chunks.push(String(chunk));
  return chunks.join("");
}
