/**
 * Bot API methods that send files.
 *
 * Owns: one file per call, given as an upload, a file id or a URL, albums of them, and `getFile` for what was uploaded.
 * Does not own: keeping contents (files.ts), serving them (index.ts).
 */
import type { Message } from "@grammyjs/types";
import type { Core } from "./core.ts";
import { badRequest } from "./errors.ts";
import { fileIdOf } from "./files.ts";
import type { Method } from "./method-call.ts";
import { isRecord, Params, type JsonRecord } from "./params.ts";
import { sendTarget } from "./targets.ts";
import type { FileView } from "./views.ts";

const CAPTION_LENGTH_MAX = 1024;
const ALBUM_MIN = 2;
const ALBUM_MAX = 10;

type MediaKind = "photo" | "document" | "video" | "audio" | "voice" | "animation" | "sticker" | "video_note";

function fileOf(core: Core, params: Params, kind: string, field: string): FileView {
  const given = params.text(field);
  const attached = given.startsWith("attach://") ? given.slice("attach://".length) : field;
  const upload = params.files.find((file) => file.field === attached);
  if (upload !== undefined) {
    const { name, size, sha256 } = upload;
    const content = params.contents.get(sha256);
    if (content !== undefined) core.files.put(fileIdOf(sha256), content);
    return { kind, name, size, sha256 };
  }
  if (given === "" || given.startsWith("attach://")) throw badRequest(`there is no ${kind} in the request`);
  return { kind, name: given, size: null, sha256: null };
}

function mediaContent(kind: MediaKind, file: FileView): Partial<Message> {
  const id = file.sha256 === null ? file.name : fileIdOf(file.sha256);
  const base = {
    file_id: id,
    file_unique_id: (file.sha256 ?? file.name).slice(0, 16),
    ...(file.size === null ? {} : { file_size: file.size }),
  };
  const named = { ...base, file_name: file.name };
  const pixels = { width: 1, height: 1 };
  switch (kind) {
    case "photo":
      return { photo: [{ ...base, ...pixels }] };
    case "document":
      return { document: named };
    case "video":
      return { video: { ...named, ...pixels, duration: 1 } };
    case "audio":
      return { audio: { ...named, duration: 1 } };
    case "voice":
      return { voice: { ...base, duration: 1 } };
    case "animation":
      return { animation: { ...named, ...pixels, duration: 1 }, document: named };
    case "sticker":
      return { sticker: { ...base, ...pixels, type: "regular", is_animated: false, is_video: false } };
    case "video_note":
      return { video_note: { ...base, length: 1, duration: 1 } };
  }
}

function captionOf(record: JsonRecord): Partial<Message> {
  const caption = record["caption"];
  if (typeof caption !== "string" || caption === "") return {};
  if (caption.length > CAPTION_LENGTH_MAX) throw badRequest("message caption is too long");
  return { caption };
}

function sendMedia(kind: MediaKind): Method {
  return ({ core, params }) => {
    const file = fileOf(core, params, kind, kind);
    const caption = captionOf(params.record);
    const target = sendTarget(core, params);
    const content = { ...target.content, ...caption, ...mediaContent(kind, file) };
    return core.world.post({ ...target, from: core.botUser, content, file }).message;
  };
}

const ALBUM_KINDS: readonly MediaKind[] = ["photo", "document", "video", "audio"];

const sendMediaGroup: Method = ({ core, params }) => {
  const media = (params.list("media") ?? []).filter(isRecord);
  if (media.length < ALBUM_MIN || media.length > ALBUM_MAX) {
    throw badRequest(`media must include ${String(ALBUM_MIN)}-${String(ALBUM_MAX)} items`);
  }
  const items = media.map((item) => albumItem(core, params, item));
  const target = sendTarget(core, params);
  const groupId = albumId(core, target.chat.id);
  return items.map(({ content, file }) => {
    const full = { ...target.content, ...content, media_group_id: groupId };
    return core.world.post({ ...target, from: core.botUser, content: full, file }).message;
  });
};

function albumItem(core: Core, params: Params, item: JsonRecord): { content: Partial<Message>; file: FileView } {
  const kind = ALBUM_KINDS.find((known) => known === item["type"]);
  if (kind === undefined) throw badRequest("can't parse InputMedia: type must be one of photo, document, video, audio");
  const file = fileOf(core, new Params(item, params), kind, "media");
  return { file, content: { ...mediaContent(kind, file), ...captionOf(item) } };
}

function albumId(core: Core, chatId: number): string {
  return `${String(Math.abs(chatId))}${String(core.transcript.lastSeq)}`;
}

/** Larger files are not given out by the Bot API's own server. */
const DOWNLOAD_BYTES_MAX = 20 * 1024 * 1024;

const getFile: Method = ({ core, params }) => {
  const id = params.text("file_id");
  const content = core.files.get(id);
  if (content === undefined) throw badRequest("wrong file_id or the file is temporarily unavailable");
  if (content.length > DOWNLOAD_BYTES_MAX) throw badRequest("file is too big");
  return { file_id: id, file_unique_id: id.slice(-16), file_size: content.length, file_path: `files/${id}` };
};

export const mediaMethods: Readonly<Record<string, Method>> = {
  sendPhoto: sendMedia("photo"),
  sendDocument: sendMedia("document"),
  sendVideo: sendMedia("video"),
  sendAudio: sendMedia("audio"),
  sendVoice: sendMedia("voice"),
  sendAnimation: sendMedia("animation"),
  sendSticker: sendMedia("sticker"),
  sendVideoNote: sendMedia("video_note"),
  sendMediaGroup,
  getFile,
};
