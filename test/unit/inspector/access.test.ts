/** Who gets in, who does not, and what they hear. */
import { createConnection } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { startInspector } from "../../../inspector/index.ts";
import { attachedViewer, helloOf, leaseActor, request, started, Viewer } from "./harness.ts";

afterEach(() => void vi.useRealTimers());

test.each([
  ["a wrong token in the hello", { hello: helloOf("wrong") }],
  ["a token that is no text", { hello: JSON.stringify({ type: "hello", token: 7 }) }],
  ["a first message that is no hello", { hello: JSON.stringify({ type: "subscribe" }) }],
  ["a first message that is no JSON", { hello: "hello" }],
  ["a wrong token in the query", { hello: null, query: "?token=wrong" }],
  ["an empty token in the query", { hello: null, query: "?token=" }],
])("%s is answered with 4401 and no frame", async (_name, options) => {
  const inspector = await started();
  leaseActor(inspector).actor.start();
  const viewer = new Viewer(inspector, options);
  expect(await viewer.closed).toBe(4401);
  expect(viewer.frames).toEqual([]);
  expect(inspector.attached).toBe(0);
  expect(inspector.counts.refused).toBe(1);
});

test("a client that says nothing for five seconds is closed with 4401", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const inspector = await started();
  const viewer = new Viewer(inspector, { hello: null });
  await viewer.opened;
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(4_999);
  expect(inspector.counts.refused).toBe(0);
  vi.advanceTimersByTime(1);
  expect(await viewer.closed).toBe(4401);
  expect(viewer.frames).toEqual([]);
});

test("the token may come in the query", async () => {
  const inspector = await started();
  const viewer = new Viewer(inspector, { hello: null, query: `?token=${inspector.token}` });
  await viewer.frame("welcome");
});

test.each(["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"])(
  "a page of origin %s gets 403 and nothing else",
  async (origin) => {
    const inspector = await started();
    const viewer = new Viewer(inspector, { headers: { Origin: origin }, query: `?token=${inspector.token}` });
    expect(await viewer.refused).toEqual({ status: 403, body: "" });
    expect(viewer.frames).toEqual([]);
    expect(await request(inspector.url, { headers: { Origin: origin } })).toMatchObject({ status: 403, body: "" });
  },
);

test("a name rebound to loopback, and our own name with another port, get 403 and nothing else", async () => {
  const inspector = await started();
  const { port } = new URL(inspector.url);
  for (const host of [`evil.example:${port}`, "127.0.0.1", "127.0.0.1:1", `127.0.0.1.evil.example:${port}`]) {
    const viewer = new Viewer(inspector, { headers: { Host: host }, query: `?token=${inspector.token}` });
    expect(await viewer.refused).toEqual({ status: 403, body: "" });
    expect(await request(inspector.url, { headers: { Host: host } })).toMatchObject({ status: 403, body: "" });
  }
  expect(inspector.counts.refused).toBe(8);
  expect(inspector.attached).toBe(0);
});

test("our own page may attach, by either loopback name", async () => {
  const inspector = await started();
  const { port } = new URL(inspector.url);
  for (const own of [`127.0.0.1:${port}`, `localhost:${port}`]) {
    const viewer = new Viewer(inspector, { headers: { Host: own, Origin: `http://${own}` } });
    await viewer.frame("welcome");
  }
});

test("it is read-only: what an attached client sends is ignored and counted", async () => {
  const inspector = await started();
  const { actor } = leaseActor(inspector);
  actor.start();
  await vi.waitUntil(() => actor.getSnapshot().matches("acquiring"));
  const before = actor.getSnapshot();
  const viewer = await attachedViewer(inspector);
  for (const text of ['{"type":"xstate.event","event":{"type":"lease.release"}}', "nonsense", helloOf(inspector.token)])
    viewer.socket.send(text);
  await vi.waitUntil(() => inspector.counts.ignored === 3);
  expect(actor.getSnapshot().value).toEqual(before.value);
  expect(viewer.frames.filter(({ kind }) => kind === "welcome")).toHaveLength(1);
});

test("GET / says what this is, holds no secret and may load nothing from elsewhere", async () => {
  const inspector = await started();
  const answer = await request(inspector.url);
  expect(answer.status).toBe(200);
  expect(answer.body).toContain("Partyline inspector");
  expect(answer.body).not.toContain(inspector.token);
  expect(answer.headers["content-security-policy"]).toContain("default-src 'none'");
  expect((await request(`${inspector.url}other`)).status).toBe(404);
  expect((await request(inspector.url, { method: "POST" })).status).toBe(405);
  const lost = new Viewer({ ...inspector, url: `${inspector.url}x/` });
  expect((await lost.refused).status).toBe(404);
});

test("closing ends attached, silent and half-open connections, and can be repeated", async () => {
  const inspector = await startInspector({ redact: (value) => value });
  const viewer = await attachedViewer(inspector);
  const silent = new Viewer(inspector, { hello: null });
  await silent.opened;
  const idle = createConnection({ port: Number(new URL(inspector.url).port), host: "127.0.0.1", allowHalfOpen: true });
  const idleClosed = new Promise((resolve) => idle.once("close", resolve));
  idle
    .on("end", () => idle.end())
    .on("error", () => undefined)
    .resume();
  await new Promise((resolve) => idle.once("connect", resolve));
  await Promise.all([inspector.close(), inspector.close()]);
  expect(await viewer.closed).toBe(1001);
  expect(await silent.closed).toBe(1001);
  await idleClosed;
  await expect(request(inspector.url)).rejects.toThrow(/ECONNREFUSED/);
  leaseActor(inspector).actor.start();
  expect(inspector.attached).toBe(0);
});

test("it starts on loopback only, and each one has a token of its own", async () => {
  // What a caller without types might pass.
  const open = { redact: (value: unknown) => value, host: "0.0.0.0" } as unknown as Parameters<
    typeof startInspector
  >[0];
  await expect(startInspector(open)).rejects.toThrow(/127\.0\.0\.1 only/);
  await expect(started({ ringMax: 0 })).rejects.toThrow(/ringMax/);
  const [one, two] = [await started(), await started()];
  expect(one.token).not.toBe(two.token);
  await expect(started({ port: Number(new URL(one.url).port) })).rejects.toThrow(/EADDRINUSE/);
});
