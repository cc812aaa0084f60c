/** What the documents name exists: commands, flags, files, folders, the version. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { version } from "../../../version.ts";

const read = (file: string): string => readFileSync(file, "utf8");
const manifest = JSON.parse(read("package.json")) as {
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
};

const documents = [
  "README.md",
  "CHANGELOG.md",
  ...readdirSync("docs", { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file.replaceAll("\\", "/")}`),
].sort();

/** Fenced blocks and inline code, where commands stand. */
const codeIn = (text: string): string[] => {
  const fences = [...text.matchAll(/^```[a-z]*\n(.*?)^```/gms)].map((match) => match[1] ?? "");
  const inline = [...text.replace(/^```.*?^```/gms, "").matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? "");
  return [...fences.flatMap((block) => block.split("\n")), ...inline];
};

/** npm's own commands; the first two are scripts of ours by another way. */
const npmCommands = ["test", "start", "ci", "install", "run"];

const commandLine = read("cli.ts") + read("cli/options.ts");
const commands = [...commandLine.matchAll(/\.command\("([a-z-]+)[" ]/g)].map((match) => match[1] ?? "");
/** With those that commander adds to every command. */
const flags = ["--help", "--version", ...[...commandLine.matchAll(/"(--[a-z-]+)/g)].map((match) => match[1] ?? "")];

describe.each(documents)("%s", (file) => {
  const text = read(file);

  it("names npm scripts that exist", () => {
    for (const code of codeIn(text))
      for (const [, command = "", script = ""] of code.matchAll(/\bnpm (?:-s )?([a-z]+)(?: ([a-z][a-z:-]*))?/g)) {
        expect(npmCommands, code).toContain(command);
        if (command === "run") expect(Object.keys(manifest.scripts), code).toContain(script);
      }
  });

  it("names commands and flags of partyline that exist", () => {
    for (const code of codeIn(text)) {
      const match = /(?:^|\s)(?:npx )?(?:partyline|node dist\/cli\.js) ([a-z][a-z-]*)(.*)$/.exec(code);
      if (match === null) continue;
      expect(commands, code).toContain(match[1]);
      const [own = ""] = (match[2] ?? "").split(/[#|]/);
      for (const [flag] of own.matchAll(/--[a-z-]+/g)) expect(flags, code).toContain(flag);
    }
  });

  it("links to files that exist", () => {
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? "");
    for (const link of links.filter((each) => !/^(https?:|#)/.test(each))) {
      const [target = ""] = link.split("#");
      expect(existsSync(path.join(path.dirname(file), target)), `${file} links to ${link}`).toBe(true);
    }
  });

  it("mentions files of this repository that exist", () => {
    const folders = readdirSync(".", { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
    for (const code of codeIn(text)) {
      const [mentioned] = /^[\w.-]+\/[\w./-]*$/.exec(code) ?? [];
      const [top = ""] = mentioned?.split("/") ?? [];
      if (mentioned === undefined || top === "dist" || !folders.includes(top)) continue;
      expect(existsSync(mentioned), `${file} mentions ${mentioned}`).toBe(true);
    }
  });
});

describe("the version", () => {
  it("is the same in package.json and version.ts", () => {
    expect(version).toBe(manifest.version);
  });

  it("stands in the changelog under Unreleased, while it is not released", () => {
    const unreleased = /^## \[Unreleased\]\n(.*?)(?=^## |$(?![\s\S]))/ms.exec(read("CHANGELOG.md"))?.[1] ?? "";
    expect(unreleased).toContain(manifest.version);
  });
});

describe("the folder map", () => {
  const [, map = ""] = /^## Folders\n(.*?)^## /ms.exec(read("README.md")) ?? [];
  const ignored = new Set(["node_modules", "dist", "coverage"]);
  const topLevel = readdirSync(".", { withFileTypes: true })
    .filter(({ name }) => !name.startsWith(".") && !name.startsWith("dist.") && !ignored.has(name))
    .flatMap((entry) =>
      entry.isDirectory() ? [`${entry.name}/`] : /^(index|cli)\.ts$/.test(entry.name) ? [entry.name] : [],
    );

  it.each(topLevel)("lists %s with its purpose", (name) => {
    expect(map).toMatch(new RegExp(`^\\| \`${name.replace(".", "\\.")}\` +\\| \\S`, "m"));
  });
});
