/** C20: an update that is skipped leaves no trace, and nobody knows why it is silent. */
import { expect, test } from "vitest";
import { group, messageUpdate, owner, stranger, strangerUser, threads } from "../support/line/fixtures.ts";
import { useLines } from "../support/line/use-line.ts";
import { until } from "../support/line/waiting.ts";

const open = useLines();

test("C20 every dropped update raises a counter that names the reason, and status shows it", async () => {
  const line = await open({ chats: [{ id: group, type: "supergroup", title: "Group" }] });
  await line.startAll(["L"]);
  line.control.setNextMessageId({ next: threads.FA });
  const fa = await line.start({ name: "FA" }).whenReady();
  const before = (await line.status()).drops;
  const rose = (drops: Readonly<Record<string, number>>, reason: string): number =>
    (drops[reason] ?? 0) - (before[reason] ?? 0);

  line.control.userSends({ text: "unauthorised", from: strangerUser });
  const ownerInGroup = {
    ...messageUpdate(810_000_100, 99, "foreign chat").message,
    chat: { id: group, type: "supergroup", title: "Group" },
  };
  line.control.rawUpdate({ update: { message: ownerInGroup } });
  const member = { user: { id: stranger, is_bot: false, first_name: "Stranger" }, status: "member" };
  line.control.rawUpdate({
    update: {
      my_chat_member: {
        chat: { id: owner, type: "private", first_name: "Owner" },
        from: { id: owner, is_bot: false, first_name: "Owner" },
        date: 1,
        old_chat_member: member,
        new_chat_member: member,
      },
    },
  });
  line.control.userSends({ text: "written outside every thread" });
  const nobodys = line.control.userCreatesThread({ name: "made by hand" });
  line.say(nobodys.threadId, "in a thread that nobody owns");
  // The same update again, far below the cursor, as a server may send it whose numbering started anew.
  const twice = messageUpdate(810_000_200, threads.FA, "twice");
  line.control.rawUpdate({ update: twice });
  line.control.rawUpdate({ update: messageUpdate(810_005_000, threads.FA, "far ahead") });
  await until("both arrive", () => fa.texts.includes("far ahead"));
  const { applied } = line.control.state().faults;
  line.control.fault({ method: "getUpdates", kind: "result", result: [twice] });
  line.say(fa.threadId, "wakes the poll");
  await until("it was sent again", () => line.control.state().faults.applied > applied);
  line.say(fa.threadId, "last");
  await until("the last one arrives", () => fa.texts.includes("last"));
  await until("all the rest is ended", () => line.openUpdates().length === 1);

  expect(fa.texts).toEqual(["twice", "far ahead", "wakes the poll", "last"]);
  const { drops, journal } = await line.status();
  expect(rose(drops, "unauthorized"), JSON.stringify(drops)).toBe(1);
  expect(rose(drops, "foreign-chat"), JSON.stringify(drops)).toBe(1);
  expect(rose(drops, "not-handled:my_chat_member"), JSON.stringify(drops)).toBe(1);
  expect(rose(drops, "topic-service-message"), JSON.stringify(drops)).toBe(1);
  // And the one that the forged answer kept from being confirmed came again as well.
  expect(rose(drops, "duplicate"), JSON.stringify(drops)).toBe(2);
  expect(rose(drops, "outside-every-thread"), JSON.stringify(drops)).toBe(1);
  // What the owner wrote into a thread that nobody owns is kept, and the owner is asked whose it is.
  expect(journal).toEqual({ waiting: 1, claimed: 0, deadLetters: 0 });
  const { output } = await line.run(["status"]);
  for (const reason of ["unauthorized", "foreign-chat", "duplicate"]) expect(output).toContain(reason);
});
