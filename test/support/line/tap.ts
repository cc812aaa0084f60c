/**
 * A wire tap between one process and the emulator: every Bot API call of that process, and when it began.
 *
 * Owns: a TCP forwarder on loopback. It changes nothing; it tells which process a call came from, which the emulator
 * cannot know.
 */
import net from "node:net";

export interface TappedCall {
  readonly method: string;
  readonly atMs: number;
}

export interface Tap {
  readonly apiRoot: string;
  readonly calls: readonly TappedCall[];
  close(): Promise<void>;
}

export async function openTap(emulatorPort: number): Promise<Tap> {
  const calls: TappedCall[] = [];
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const upstream = net.connect(emulatorPort, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    }
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    client.on("data", (chunk) => {
      for (const [, method = ""] of chunk.toString("latin1").matchAll(/POST \/bot[^/ ]+\/(\w+) HTTP/g))
        calls.push({ method, atMs: Date.now() });
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => client.write(chunk));
    for (const socket of [client, upstream]) socket.on("error", end).on("close", end);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as net.AddressInfo; // it listens on TCP
  return {
    apiRoot: `http://127.0.0.1:${port}`,
    calls,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => {
          resolve();
        });
      }),
  };
}
