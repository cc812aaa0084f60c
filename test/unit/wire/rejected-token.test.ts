/** C14: Telegram rejects the token, through whole instances in virtual time. */
import { expect, test } from "vitest";
import { updateId } from "../../../machines/ids.ts";
import { roleOf } from "../../../machines/role.rules.ts";
import type { CallOutcome } from "../../../services/ports.ts";
import { startInstance, startLeader } from "../../support/wire/leader.ts";
import type { LeaderWorld } from "../../support/wire/leader.ts";

const unauthorized: CallOutcome = {
  kind: "rejected",
  error: { error_code: 401, description: "Unauthorized" },
};
const methods = ["getMe", "getUpdates", "sendMessage"];

function reject({ telegram }: Pick<LeaderWorld, "telegram">): void {
  for (const method of methods) telegram.answer(method, () => unauthorized);
}
/** The next look into the file finds a token that Telegram knows. */
function replaceToken({ telegram }: Pick<LeaderWorld, "telegram">): void {
  telegram.renewal = () => {
    for (const method of methods) telegram.answer(method, null);
    telegram.renewal = () => "same";
    return "changed";
  };
}

const healthOf = async ({ store }: LeaderWorld) => (await store.status.read()).polling.health;
const warnings = ({ log }: LeaderWorld) => log.filter(({ level }) => level === "warn" || level === "error");
const send = ({ instance }: LeaderWorld) => instance.call({ method: "sendMessage", body: { text: "hi" } });
const message = (id: number) => ({
  update_id: id,
  ...{
    message: {
      message_id: id,
      date: 1,
      chat: { id: 7, type: "private" },
      from: { id: 7, is_bot: false, first_name: "Owner" },
      message_thread_id: 41,
      is_topic_message: true,
      text: `text ${id}`,
    },
  },
});

test("C14 rejected from the start: told, kept in few lines, calls fail at once, and no second election", async () => {
  const world = await startInstance({ prepare: reject });
  await world.clock.advance(3_000);
  expect(await healthOf(world)).toBe("token rejected");
  const { epoch } = world.instance.actor.getSnapshot().context;
  let outcome: CallOutcome | null = null;
  void send(world).then((told) => (outcome = told));
  await world.clock.advance(0);
  expect(outcome).toEqual(unauthorized);

  await world.clock.advance(10 * 60_000);
  expect(warnings(world).length).toBeLessThanOrEqual(10);
  expect(world.telegram.of("getMe").length).toBeLessThan(25);
  expect(world.instance.actor.getSnapshot().context.epoch).toBe(epoch);
  expect(roleOf(world.instance.actor.getSnapshot())).toBe("leader");

  replaceToken(world);
  await world.clock.advance(61_000);
  expect(await healthOf(world)).toBe("ok");
  expect((await send(world)).kind).toBe("ok");
});

test("C14 rejected while it leads: told, polled with growing pauses, and nothing is lost when another token heals it", async () => {
  const world = await startLeader();
  world.telegram.give(message(101));
  await world.clock.advance(100);
  reject(world);
  // The poll that is open still brings this one; the next is rejected.
  world.telegram.give(message(102));
  await world.clock.advance(1_000);
  world.telegram.give(message(103));
  await world.clock.advance(2 * 60_000);
  expect(await healthOf(world)).toBe("token rejected");
  expect(warnings(world).length).toBeLessThanOrEqual(10);
  expect(await send(world)).toEqual(unauthorized);
  expect(world.handed.map(({ update }) => update)).toMatchObject([{ update_id: 101 }, { update_id: 102 }]);

  replaceToken(world);
  await world.clock.advance(61_000);
  expect(await healthOf(world)).toBe("ok");
  expect(world.handed.map(({ update }) => update)).toMatchObject([101, 102, 103].map((id) => ({ update_id: id })));
  expect(await world.store.journal.cursor()).toBe(updateId(104));
});

test("C14 an operator's word heals it at once, and one that changes nothing is said to", async () => {
  const world = await startInstance({ prepare: reject });
  await world.clock.advance(2 * 60_000);
  expect(await world.instance.renewToken()).toBe("same");
  replaceToken(world);
  expect(await world.instance.renewToken()).toBe("changed");
  await world.clock.advance(500);
  expect(await healthOf(world)).toBe("ok");
});

test("what an earlier leadership met is not told to calls that wait for the next", async () => {
  const world = await startInstance({ prepare: reject });
  await world.clock.advance(3_000);
  expect(await world.store.status.presentHealth()).toBe("token rejected");
  const { epoch } = world.instance.actor.getSnapshot().context;
  await world.store.lease.release({ epoch });
  expect(await world.store.status.presentHealth()).toBeNull();
});
