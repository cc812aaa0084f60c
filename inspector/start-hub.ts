/**
 * The inspector over several processes: a hub and the server of its page.
 *
 * Owns: starting and closing the two together. Does not own: either.
 */
import { Hub } from "./hub.ts";
import type { HubOptions } from "./hub.ts";
import { readRecording, RecordingFeed } from "./replay.ts";
import type { Recording } from "./replay.ts";
import { WebServer } from "./web-server.ts";

export { RecordingError } from "./replay.ts";

export interface HubInspectorOptions extends HubOptions {
  /** 0: any free one. */
  readonly port: number;
  readonly allowSend: boolean;
  readonly title: string;
}

export interface HubInspector {
  readonly url: string;
  readonly token: string;
  /** For a browser: the address with the token in its fragment. */
  readonly pageUrl: string;
  readonly hub: Hub;
  close(): Promise<void>;
}

const host = "127.0.0.1";
const pageUrlOf = (port: number, token: string): string => `http://${host}:${port}/#token=${token}`;

export async function startHub(options: HubInspectorOptions): Promise<HubInspector> {
  const hub = new Hub(options);
  const server = new WebServer({
    feed: hub,
    about: { mode: "live", maySend: options.allowSend, title: options.title },
  });
  const port = await server.listen(options.port, host).catch((error: unknown) => {
    hub.close();
    throw error;
  });
  return {
    url: `http://${host}:${port}/`,
    token: server.token,
    pageUrl: pageUrlOf(port, server.token),
    hub,
    async close() {
      hub.close();
      await server.close();
    },
  };
}

export interface ReplayInspector extends Pick<HubInspector, "url" | "token" | "pageUrl" | "close"> {
  readonly recording: Recording;
}

/** Serves a recording. Rejects with a `RecordingError` when the file is none. */
export async function startReplay(options: { readonly file: string; readonly port: number }): Promise<ReplayInspector> {
  const recording = await readRecording(options.file);
  const named = recording.header["title"];
  const title = typeof named === "string" ? named : (options.file.split(/[\\/]/).at(-1) ?? options.file);
  const server = new WebServer({
    feed: new RecordingFeed(recording),
    about: { mode: "recording", maySend: false, title },
  });
  const port = await server.listen(options.port, host);
  return {
    url: `http://${host}:${port}/`,
    token: server.token,
    pageUrl: pageUrlOf(port, server.token),
    recording,
    close: () => server.close(),
  };
}
