/**
 * The tables of settings in the READMEs are what the manifest says.
 * `UPDATE_DOCS=1 npx mocha test/docs` writes them.
 */
import { strict as assert } from "node:assert";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { replaceBlock } from "../../bench/blocks";

const root = join(__dirname, "..", "..");
const READMES = [
  {
    file: "README.md",
    strings: "package.nls.json",
    setting: "setting",
    fallback: "default",
    does: "what it does",
  },
  {
    file: "README.zh-CN.md",
    strings: "package.nls.zh-cn.json",
    setting: "设置",
    fallback: "默认值",
    does: "作用",
  },
] as const;

interface Setting {
  readonly default?: unknown;
  readonly order?: number;
  readonly description?: string;
  readonly markdownDescription?: string;
}

function json(file: string) {
  return JSON.parse(readFileSync(join(root, file), "utf8"));
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

describe("readme", () => {
  const manifest = json("package.json").contributes;
  for (const { file, strings, setting, fallback, does } of READMES) {
    it(`${file} lists every setting`, () => {
      const english = json("package.nls.json");
      const words = json(strings);
      const say = (text: string): string => {
        const key = /^%(.+)%$/.exec(text)?.[1];
        return key === undefined ? text : (words[key] ?? english[key] ?? text);
      };
      const groups: readonly { readonly properties: Readonly<Record<string, Setting>> }[] = [
        manifest.configuration,
      ].flat();
      const settings = groups
        .flatMap((group) => Object.entries(group.properties))
        .map(([key, value]) => [
          `\`${key}\``,
          `\`${JSON.stringify(value.default)}\``,
          say(value.markdownDescription ?? value.description ?? ""),
        ]);
      const path = join(root, file);
      const before = readFileSync(path, "utf8");
      const after = replaceBlock(before, "settings", table([setting, fallback, does], settings));
      if (process.env["UPDATE_DOCS"] === "1") writeFileSync(path, after);
      else assert.equal(before, after, "run UPDATE_DOCS=1 npx mocha test/docs");
    });

    it(`${file} links to files that are there`, () => {
      const text = readFileSync(join(root, file), "utf8");
      const targets = [...text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map((match) => match[1] ?? "");
      const missing = targets.filter((target) => !/^[a-z]+:/.test(target) && !existsSync(join(root, target)));
      assert.deepEqual(missing, []);
    });
  }
});
