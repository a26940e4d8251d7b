/** What a person reads, in both languages: short sentences, one term for each thing, the marks of the language. */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { tableOf } from "../src/analysis/messages";
import { WORDS } from "../src/cli/words";
import { LEVER_IDS } from "../src/core/advise/types";
import { COMPONENT_KINDS, PHASES } from "../src/core/report/estimate";
import { partName } from "../src/extension/statusText";
import { TEXT } from "../src/server/text";
import { PAGE } from "../src/web/words";
import { clientWords } from "../src/words/client";
import { CLIENT } from "../src/words/en/client";
import { EFFECTS as EN_EFFECTS } from "../src/words/en/effects";
import { LEVERS as EN_LEVERS } from "../src/words/en/levers";
import { CLIENT as ZH_CLIENT } from "../src/words/zh-cn/client";
import { EFFECTS as ZH_EFFECTS } from "../src/words/zh-cn/effects";
import { LEVERS as ZH_LEVERS } from "../src/words/zh-cn/levers";
import { en as EVIDENCE_EN } from "../webview-ui/evidence/messages/en";
import { zhCn as EVIDENCE_ZH } from "../webview-ui/evidence/messages/zh-cn";
import { en } from "../webview-ui/messages/en";
import { zhCn } from "../webview-ui/messages/zh-cn";

const LONGEST = 120;

/** What is longer, and why. */
const LONGER: Readonly<Record<string, string>> = {
  "extension.description": "the marketplace's line, which search reads",
  "setting.device": "lists every way to say a GPU, where it is typed",
  "setting.receipts.learn": "settings stand alone, without a page beside them",
  "setting.pythonPath": "settings stand alone, without a page beside them",
  "walkthrough.device.description": "two sentences and a link",
  "walkthrough.hover.description": "two sentences and a link",
  "walkthrough.panel.description": "two sentences and a link",
};

type Table = Readonly<Record<string, string>>;

const root = join(__dirname, "..");
const json = (path: string): Table => JSON.parse(readFileSync(join(root, path), "utf8")) as Table;
const levers = (table: typeof EN_LEVERS | typeof ZH_LEVERS): Table =>
  Object.fromEntries(
    Object.entries(table).flatMap(([id, { title, why }]) => [
      [`${id}.title`, title],
      [`${id}.why`, why],
    ]),
  );

const ENGLISH: Readonly<Record<string, Table>> = {
  messages: tableOf("en"),
  effects: EN_EFFECTS,
  levers: levers(EN_LEVERS),
  panel: en,
  "page of evidence": EVIDENCE_EN,
  server: TEXT.en,
  "command line": WORDS.en,
  "web page": PAGE.en,
  manifest: json("package.nls.json"),
  "editor's client": CLIENT,
};

const CHINESE: Readonly<Record<string, Table>> = {
  messages: tableOf("zh-cn"),
  effects: ZH_EFFECTS,
  levers: levers(ZH_LEVERS),
  panel: zhCn,
  "page of evidence": EVIDENCE_ZH,
  server: TEXT["zh-cn"],
  "command line": WORDS["zh-cn"],
  "web page": PAGE["zh-cn"],
  manifest: json("package.nls.zh-cn.json"),
  "editor's client": ZH_CLIENT,
};

/** What a person reads: a hole counts as the word that fills it, and one of two forms is shown. */
function shown(text: string): string {
  return text.replace(/\{\w+\|[^|}]*\|([^}]*)\}/g, "$1").replace(/\{\w+(?:\|,)?\}/g, "8.0");
}

/** A text without what is code or an address, where another language's marks stand. */
const prose = (text: string): string => text.replace(/`[^`]*`|\]\([a-z]+:[^)]*\)/g, "X");

/** Words that stand for what has another name, by the name that it has. */
const TERMS: readonly (readonly [string, RegExp])[] = [
  ["GPU", /显卡|单卡|多卡|跨卡|卡间|[这另一]张卡/],
  ["缓冲区", /缓冲(?!区)/],
  ["每条序列", /每个序列/],
  ["阶段", /stage [\d{]/],
  ["显存池", /内存池/],
  ["张 GPU", /[块个颗台] ?GPU/],
  ["微批大小", /批次|批量大小|微批次/],
  ["token", /令牌|词元/],
  // It would be a folder as well as the catalogue.
  ["文件夹, 清单", /目录/],
  ["运行", /这次训练|此任务/],
];

describe("words", () => {
  for (const [language, tables] of Object.entries({ English: ENGLISH, Chinese: CHINESE })) {
    for (const [name, table] of Object.entries(tables)) {
      it(`are short: ${language} ${name}`, () => {
        const long = Object.entries(table)
          .filter(([id, text]) => shown(text).length > LONGEST && LONGER[id] === undefined)
          .map(([id, text]) => `${id}: ${shown(text).length}`);
        assert.deepEqual(long, []);
      });
    }
  }

  for (const name of ["messages", "effects"]) {
    it(`name keys, files and functions as code: ${name}`, () => {
      for (const table of [ENGLISH[name], CHINESE[name]])
        for (const [id, text] of Object.entries(table ?? {}))
          if (!/^(?:fix|phase)\./.test(id))
            assert.doesNotMatch(
              prose(text).replace(/\{[^}]*\}/g, "X"),
              /[A-Za-z]\w*_\w+|\w\.json|from_pretrained/,
              `${id}: ${text}`,
            );
    });
  }

  it("of both languages are of the same things", () => {
    for (const [name, table] of Object.entries(ENGLISH))
      assert.deepEqual(Object.keys(CHINESE[name] ?? {}).sort(), Object.keys(table).sort(), name);
  });

  for (const [name, table] of Object.entries(CHINESE))
    it(`keep to the glossary: ${name}`, () => {
      const glossary = readFileSync(join(root, "docs", "glossary.md"), "utf8");
      const avoided = [...glossary.matchAll(/^\|[^|]*\|[^|]*\| ([^|]+) \|$/gm)]
        .flatMap(([, words = ""]) => words.split(", "))
        .filter((word) => /\p{Script=Han}/u.test(word));
      assert.ok(avoided.length > 15, String(avoided.length));
      for (const [id, text] of Object.entries(table))
        for (const word of avoided) assert.ok(!text.includes(word), `${id}: ${word} is not in the glossary: ${text}`);
    });

  for (const [name, table] of Object.entries(CHINESE)) {
    it(`have one term for each thing and the marks of the language: ${name}`, () => {
      for (const [id, text] of Object.entries(table)) {
        for (const [term, other] of TERMS) assert.doesNotMatch(prose(text), other, `${id}: it is ${term}: ${text}`);
        assert.doesNotMatch(prose(text), /\p{Script=Han}[,:;!?()]|[,;:!?()]\p{Script=Han}|;(?! )/u, `${id}: ${text}`);
        assert.doesNotMatch(
          prose(text),
          /\p{Script=Han}(token|GPU|GiB|KV|ZeRO)|(token|GPU|GiB|KV|ZeRO)\p{Script=Han}/u,
          `${id}: ${text}`,
        );
      }
    });
  }

  it("call the parts of the peak and the phases of the step the same everywhere", () => {
    for (const [locale, panel] of [
      ["en", en],
      ["zh-cn", zhCn],
    ] as const) {
      const messages: Table = tableOf(locale);
      const page: Table = panel;
      for (const kind of COMPONENT_KINDS) {
        const name = messages[`component.${kind}`];
        assert.equal(page[`kind.${kind}`]?.toLowerCase(), name, kind);
        assert.equal((TEXT[locale] as Table)[`part.${kind}`], name, kind);
        const client = clientWords(locale);
        assert.equal(partName(kind, client), name, kind);
      }
      // English sentences say "the optimizer step" where the chart has room for a word.
      if (locale === "zh-cn")
        for (const phase of PHASES) assert.equal(page[`phase.${phase}`], messages[`phase.${phase}`], phase);
    }
  });

  it("have a reason where they are longer, and only there", () => {
    for (const id of Object.keys(LONGER)) {
      const texts = [...Object.values(ENGLISH), ...Object.values(CHINESE)].flatMap((table) => table[id] ?? []);
      assert.ok(
        texts.some((text) => shown(text).length > LONGEST),
        `${id} is short`,
      );
    }
  });

  it("has words for every lever, and for nothing else", () => {
    assert.deepEqual(Object.keys(EN_LEVERS).sort(), [...LEVER_IDS].sort());
  });
});
