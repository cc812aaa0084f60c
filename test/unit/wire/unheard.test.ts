/** Updates for which a host that works in turns has no handler, while the store does not answer. */
import { expect, test } from "vitest";
import { Handlers } from "../../../services/handlers.ts";
import type { Trouble } from "../../../services/handlers.ts";

/** What an update that nobody hears of asked of the store, and what the host was told. */
async function unheard(answers: { readonly ack: () => Promise<boolean>; readonly fail: () => Promise<boolean> }) {
  const asked: string[] = [];
  const troubles: string[] = [];
  const handlers = new Handlers({ event: () => undefined }, "turns");
  // The one value that an error comes with.
  handlers.on("error", (trouble) => void troubles.push((trouble as Trouble).message));
  await handlers.handOut({
    id: "7",
    update: {},
    redelivered: false,
    ack: () => {
      asked.push("ack");
      return answers.ack();
    },
    fail: (reason) => {
      asked.push(`fail: ${reason}`);
      return answers.fail();
    },
  });
  return { asked, troubles };
}

const busy = () => Promise.reject<boolean>(new Error("the store is busy"));
const done = () => Promise.resolve(true);
const notEnded = "the end of update 7 was not recorded: Error: the store is busy";

test("updates/OP-18: what nobody hears of is done with, and given back when that could not be recorded", async () => {
  expect(await unheard({ ack: done, fail: done })).toEqual({ asked: ["ack"], troubles: [] });
  const returned = await unheard({ ack: busy, fail: done });
  expect(returned).toEqual({ asked: ["ack", "fail: Error: the store is busy"], troubles: [notEnded] });
});

test("updates/OP-18: when it could not be given back either, that is told and nothing breaks", async () => {
  const { asked, troubles } = await unheard({ ack: busy, fail: busy });
  expect(asked).toHaveLength(2);
  expect(troubles).toEqual([notEnded, "the failure of update 7 was not recorded: Error: the store is busy"]);
});
