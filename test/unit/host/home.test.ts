import { describe, expect, it } from "vitest";
import { botIdOf, checkProfile, profileFolder, stateHome, type HomeSources } from "../../../adapters/host/home.ts";

const from = (env: Record<string, string>, platform: NodeJS.Platform = "linux"): HomeSources => ({
  platform,
  env,
  userHome: platform === "win32" ? "C:\\Users\\u" : "/home/u",
  cwd: platform === "win32" ? "C:\\cwd" : "/cwd",
});

describe("the state folder", () => {
  it("is the explicit one, then PARTYLINE_HOME, then XDG, then the user's own", () => {
    const env = { PARTYLINE_HOME: "/p", XDG_STATE_HOME: "/x" };
    expect(stateHome("rel", from(env))).toBe("/cwd/rel");
    expect(stateHome(null, from(env))).toBe("/p");
    expect(stateHome(null, from({ XDG_STATE_HOME: "/x" }))).toBe("/x/partyline");
    expect(stateHome(null, from({}))).toBe("/home/u/.local/state/partyline");
  });

  it("takes empty values as unset and ignores a relative XDG_STATE_HOME", () => {
    const env = { PARTYLINE_HOME: "", XDG_STATE_HOME: "state" };
    expect(stateHome("", from(env))).toBe("/home/u/.local/state/partyline");
  });

  it("is the platform's own place on macOS and Windows", () => {
    expect(stateHome(null, from({}, "darwin"))).toBe("/home/u/Library/Application Support/partyline");
    expect(stateHome(null, from({ LOCALAPPDATA: "D:\\L" }, "win32"))).toBe("D:\\L\\partyline");
    expect(stateHome(null, from({}, "win32"))).toBe("C:\\Users\\u\\AppData\\Local\\partyline");
  });

  it("updates/T-20: holds one folder per bot and profile", () => {
    expect(profileFolder("/p", "42", "jobs", "linux")).toBe("/p/42/jobs");
    expect(profileFolder("C:\\p", "42", "jobs", "win32")).toBe("C:\\p\\42\\jobs");
  });
});

describe("profile names", () => {
  it("are lowercase letters and digits, `default` when not given", () => {
    expect(checkProfile(undefined)).toEqual({ kind: "ok", value: "default" });
    expect(checkProfile("work2")).toEqual({ kind: "ok", value: "work2" });
  });

  it.each(["", "Work", "a-b", "../x", "a".repeat(33), "a\n", "a:b"])("threads/OP-41: cannot be %j", (name) => {
    const checked = checkProfile(name);
    expect(checked.kind === "invalid" && checked.message).toContain("1 to 32");
  });
});

describe("bot tokens", () => {
  const secret = "AAEhBOweik9ai2RB1SkPvOKhUNEVMbo0123";

  it("updates/T-19: give the bot's id, the same for a token that has taken another's place", () => {
    for (const each of [secret, `B${secret.slice(1)}`])
      expect(botIdOf(`123456789:${each}`)).toEqual({ kind: "ok", value: "123456789" });
  });

  it.each([
    ["", "empty"],
    [secret, "no colon"],
    [` 1:${secret}`, "around"],
    [`1:${secret}\n`, "around"],
    [`1:${secret} x`, "in it"],
    [`x:${secret}`, "shape"],
    ["1:short", "shape"],
    [`01:${secret}`, "shape"],
  ])("say what is wrong with %j without showing it", (token, flaw) => {
    const checked = botIdOf(token);
    expect(checked.kind === "invalid" && checked.message).toContain(flaw);
    expect(JSON.stringify(checked)).not.toContain(secret);
    if (token !== "") expect(JSON.stringify(checked)).not.toContain(token.trim());
  });
});
