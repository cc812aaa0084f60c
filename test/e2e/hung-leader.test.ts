/** A leader that is stopped, not dead: its process lives, so only the end of its lease lets another one lead. */
import { expect, onTestFinished, test } from "vitest";
import { stopOutsideOfWrites } from "../support/line/stopping.ts";
import { useLines } from "../support/line/use-line.ts";
import { openTap } from "../support/line/tap.ts";
import { report, until } from "../support/line/waiting.ts";

const open = useLines();
const leaseMs = 6_000;

test("SIGSTOP past the lease: another one leads; woken, the old one makes no call, follows, and nothing comes twice", async () => {
  const line = await open();
  const tap = await openTap(line.emulator.port);
  onTestFinished(() => tap.close());
  const alpha = await line.start({ name: "alpha", flags: ["--api-root", tap.apiRoot] }).whenReady();
  const beta = await line.start({ name: "beta" }).whenReady();
  expect(alpha.role).toBe("leader");
  expect(tap.calls.length).toBeGreaterThan(0);

  const stoppedAtMs = await stopOutsideOfWrites(line, alpha);
  const ids = [line.say(alpha.threadId, "for alpha"), line.say(beta.threadId, "for beta")];
  await beta.whenRole("leader");
  const takeoverMs = (beta.roles.at(-1)?.atMs ?? Infinity) - stoppedAtMs;
  report(`takeover from a stopped leader: ${takeoverMs} ms (lease ${leaseMs} ms, target lease + 2 s)`);
  expect(beta.epoch).toBe(2);
  await until("the new leader serves its own thread", () => beta.texts.includes("for beta"));

  const wokenAtMs = Date.now();
  alpha.signal("SIGCONT");
  await alpha.whenRole("follower");
  await line.settled(ids);
  expect(alpha.epoch).toBe(2);
  expect(alpha.texts).toEqual(["for alpha"]);
  expect(beta.texts).toEqual(["for beta"]);
  // It may find its own poll ended with a conflict; it asks Telegram for nothing any more.
  expect(tap.calls.filter(({ atMs }) => atMs >= wokenAtMs)).toEqual([]);
  expect(line.control.state().polls.conflicts409).toBeLessThanOrEqual(1);
  expect(line.leader).toBe(beta);
  // Not before the lease can have ended, and not later than the target and what a busy machine adds.
  expect(takeoverMs).toBeGreaterThan(leaseMs - 1_500 - 100);
  expect(takeoverMs).toBeLessThan(leaseMs + 20_000);
});

test("SIGSTOP for less than the lease changes nothing: same leader, same epoch, the waiting message arrives once", async () => {
  const line = await open();
  const [alpha, beta] = await line.startAll(["alpha", "beta"]);
  await stopOutsideOfWrites(line, alpha!);
  const ids = [line.say(beta!.threadId, "meanwhile")];
  await until("half of a lease has passed", () => Date.now() - (alpha!.ready?.atMs ?? 0) > leaseMs / 2);
  alpha!.signal("SIGCONT");
  await line.settled(ids);
  expect(beta!.texts).toEqual(["meanwhile"]);
  expect(line.leader).toBe(alpha);
  expect((await line.status()).epoch).toBe(1);
});
