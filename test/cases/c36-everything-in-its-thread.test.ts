/** C36: text goes to the thread, and media, albums or drafts lose it and land in General. */
import { expect, test } from "vitest";
import { useLines } from "../support/line/use-line.ts";

const open = useLines();

const photo = "https://example.test/photo.jpg";
const calls: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ["sendMessage", { text: "text" }],
  ["sendPhoto", { photo }],
  ["sendDocument", { document: photo }],
  ["sendVoice", { voice: photo }],
  ["sendAudio", { audio: photo }],
  ["sendVideo", { video: photo }],
  ["sendAnimation", { animation: photo }],
  ["sendVideoNote", { video_note: photo }],
  [
    "sendMediaGroup",
    {
      media: [
        { type: "photo", media: photo },
        { type: "photo", media: photo },
      ],
    },
  ],
  ["sendSticker", { sticker: photo }],
  ["sendLocation", { latitude: 1, longitude: 1 }],
  ["sendContact", { phone_number: "1", first_name: "A" }],
  ["sendDice", {}],
  ["sendRichMessage", { text: "rich" }],
  ["sendMessageDraft", { draft_id: 1, text: "draft" }],
  ["sendChatAction", { action: "typing" }],
  ["sendPoll", { question: "?", options: [{ text: "a" }, { text: "b" }] }],
];

test.each(["L", "FA"])(
  "C36 every sending method of %s goes out with its own thread, and none with another's",
  async (name) => {
    const line = await open();
    const agents = await line.startAll(["L", "FA"]);
    const agent = agents.find(({ label }) => label === name)!;
    const other = agents.find(({ label }) => label !== name)!;
    const first = await agent.call("sendMessage", { text: "to copy" });
    const messageId = (first.result as { readonly message_id: number }).message_id;
    const copies = ["copyMessage", "forwardMessage"].map(
      (method) => [method, { from_chat_id: 5_550_001, message_id: messageId }] as const,
    );
    for (const [method, payload] of [...calls, ...copies]) {
      const { lastSeq } = line.control.state();
      await agent.call(method, payload);
      const made = line.control.transcript({ since: lastSeq }).filter((each) => each.method === method);
      expect(
        made.map((each) => Number(each.payload["message_thread_id"])),
        method,
      ).toEqual([agent.threadId]);
    }
    const { lastSeq } = line.control.state();
    for (const [method, payload] of [...calls, ...copies])
      expect(await agent.call(method, { ...payload, message_thread_id: other.threadId }), method).toMatchObject({
        ok: false,
        error: { error_code: 403 },
      });
    const sent = line.control
      .transcript({ since: lastSeq })
      .filter(({ method }) => /^(send|copy|forward)/.test(method));
    expect(sent).toEqual([]);
  },
);
