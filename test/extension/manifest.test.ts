/** package.json's editor parts against the code: every command, setting and string exists on both sides. */

import { strict as assert } from "node:assert";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readFindingPages } from "../../scripts/finding-pages";
import { pinsSchemaText } from "../../scripts/pins-schema";
import { toolInputSchema } from "../../src/core/report/tool-schema";
import { TOOLS, type ToolName } from "../../src/core/report/tools";
import { LANGUAGES } from "../../src/extension/sniff";
import { CLIENT_COMMANDS } from "../../src/server/protocol";
import { SETTINGS, SEVERITIES } from "../../src/server/settings";
import { CLIENT } from "../../src/words/en/client";
import { CLIENT as CHINESE } from "../../src/words/zh-cn/client";

const root = join(__dirname, "..", "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const json = (path: string) => JSON.parse(read(path));
const manifest = json("package.json");
const sources = readdirSync(join(root, "src/extension")).map((name) => ({ name, text: read(`src/extension/${name}`) }));

/** First arguments of `t("…")` in the extension's sources. */
/** Ids of sentences that the client says. */
function said(): Set<string> {
  return new Set(sources.flatMap(({ text }) => [...text.matchAll(/\bt\(\s*"(\w+)"/g)].map((match) => match[1] ?? "")));
}

describe("manifest", () => {
  const { commands, configuration, menus, languageModelTools, walkthroughs } = manifest.contributes;

  it("contributes exactly the commands that are registered", () => {
    const registered = read("src/extension/commands.ts").matchAll(/^ {2}"(vramlens\.\w+)":/gm);
    assert.deepEqual(
      commands.map(({ command }: { command: string }) => command).sort(),
      [...registered].map((match) => match[1]).sort(),
    );
    for (const id of Object.values(CLIENT_COMMANDS)) {
      assert.ok(
        commands.some(({ command }: { command: string }) => command === id),
        id,
      );
    }
  });

  it("documents every command and tool; the READMEs have the settings", () => {
    const page = read("docs/editor.md");
    const words = [
      ...commands.map(({ command }: { command: string }) => command),
      ...languageModelTools.map(({ name }: { name: string }) => name),
    ];
    for (const word of words) assert.ok(page.includes(`\`${word}\``), word);
    for (const match of page.matchAll(/`(vramlens\.[\w.]+)`/g)) assert.ok(words.includes(match[1] ?? ""), match[1]);
    const strings = json("package.nls.json");
    const hidden = menus.commandPalette.map(({ command }: { command: string }) => command);
    for (const { command, title } of commands)
      if (!hidden.includes(command)) assert.ok(page.includes(`**${strings[title.slice(1, -1)]}**`), title);
  });

  it("has menus for commands that exist", () => {
    const ids = new Set(commands.map(({ command }: { command: string }) => command));
    for (const entries of Object.values(menus) as { command: string }[][]) {
      for (const { command } of entries) assert.ok(ids.has(command), command);
    }
  });

  it("contributes the settings of the table, with the same types, defaults, bounds and scopes", () => {
    const properties: Record<string, Record<string, unknown>> = configuration.properties;
    assert.deepEqual(
      Object.keys(properties),
      SETTINGS.map(({ name }) => `vramlens.${name}`),
    );
    for (const spec of SETTINGS) {
      const property = properties[`vramlens.${spec.name}`];
      assert.equal(property?.["type"], spec.type, spec.name);
      assert.deepEqual(property?.["default"], spec.default, spec.name);
      assert.equal(property?.["scope"], spec.scope, spec.name);
      assert.equal(property?.["minimum"], spec.minimum, spec.name);
      assert.equal(property?.["maximum"], spec.maximum, spec.name);
      assert.deepEqual(property?.["enum"], spec.values, spec.name);
      assert.equal(property?.["markdownDescription"], `%setting.${spec.name}%`);
    }
    const severity = properties["vramlens.severity"]?.["additionalProperties"] as { enum: string[] };
    assert.deepEqual(severity.enum, [...SEVERITIES]);
    const names = properties["vramlens.severity"]?.["propertyNames"] as { anyOf: { enum?: string[] }[] };
    const codes = readFindingPages().map(({ code }) => code);
    assert.deepEqual(names.anyOf[0]?.enum, codes, "run npm run generate");
  });

  it("has every string in both languages, and none too many", () => {
    const used = [...JSON.stringify(manifest).matchAll(/%([\w.-]+)%/g)].map((match) => match[1]);
    const english = Object.keys(json("package.nls.json")).sort();
    assert.deepEqual([...new Set(used)].sort(), english);
    assert.deepEqual(Object.keys(json("package.nls.zh-cn.json")).sort(), english);
  });

  it("says every sentence of the client's, with the same placeholders in both languages", () => {
    assert.deepEqual(Object.keys(CLIENT).sort(), [...said()].sort());
    const placeholders = (text: string) => [...text.matchAll(/\{\d\}/g)].map(String).sort();
    for (const [id, english] of Object.entries(CLIENT))
      assert.deepEqual(placeholders(CHINESE[id as keyof typeof CLIENT]), placeholders(english), id);
  });

  it("activates for the languages that are looked at, and nothing else wakes it", () => {
    const events: string[] = manifest.activationEvents;
    const languages = events.filter((event) => event.startsWith("onLanguage:")).map((event) => event.slice(11));
    assert.deepEqual(
      languages,
      LANGUAGES.filter((language) => language !== "plaintext"),
    );
    assert.deepEqual(
      events.filter((event) => !event.startsWith("onLanguage:")),
      ["onWebviewPanel:vramlens.panel"],
    );
  });

  it("works in untrusted and virtual workspaces", () => {
    assert.equal(manifest.capabilities.untrustedWorkspaces.supported, true);
    assert.equal(manifest.capabilities.virtualWorkspaces, true);
    for (const id of ["vramlens.traceModel", "vramlens.checkAgainstPytorch"])
      assert.match(
        manifest.contributes.commands.find(({ command }: { command: string }) => command === id).enablement,
        /isWorkspaceTrusted/,
      );
  });

  it("names files that exist and are packaged", () => {
    const kept = read(".vscodeignore")
      .split("\n")
      .filter((line) => line.startsWith("!"))
      .map((line) => new RegExp(`^${line.slice(1).replace(/\./g, "\\.").replace(/\*+/g, ".*")}$`));
    const files: string[] = [
      manifest.icon,
      ...manifest.contributes.grammars.map(({ path }: { path: string }) => path),
      ...manifest.contributes.yamlValidation.map(({ url }: { url: string }) => url),
      ...walkthroughs.flatMap(({ steps }: { steps: { media: { markdown: string } }[] }) =>
        steps.flatMap(({ media }) => [media.markdown, media.markdown.replace(/\.md$/, ".nls.zh-cn.md")]),
      ),
      "package.nls.zh-cn.json",
    ];
    for (const file of files) {
      const path = file.replace(/^\.\//, "");
      assert.ok(existsSync(join(root, path)), path);
      assert.ok(
        kept.some((pattern) => pattern.test(path)),
        `${path} is not packaged`,
      );
    }
    for (const bundle of [manifest.main, manifest.browser]) {
      assert.ok(
        kept.some((pattern) => pattern.test(bundle.replace(/^\.\//, ""))),
        bundle,
      );
    }
  });

  it("describes its tools to a model: what, when, what not, and every input", () => {
    const registered = [...read("src/extension/tools.ts").matchAll(/registerTool\("(\w+)"/g)].map((match) => match[1]);
    assert.deepEqual(languageModelTools.map(({ name }: { name: string }) => name).sort(), registered.sort());
    for (const tool of languageModelTools) {
      assert.match(tool.modelDescription, /Use it (when|before)/);
      assert.equal(tool.modelDescription, TOOLS[tool.name as ToolName], "run npm run generate");
      assert.deepEqual(tool.inputSchema, toolInputSchema(), "run npm run generate");
      for (const property of Object.values(tool.inputSchema.properties) as { description?: string }[]) {
        assert.ok((property.description ?? "").length > 20);
      }
    }
  });

  it("has the schema of the pins file as the analysis validates it", () => {
    const hint = "run node --require ./scripts/typescript.cjs scripts/pins-schema.ts";
    assert.deepEqual(json("schemas/vramlens.schema.json"), JSON.parse(pinsSchemaText()), hint);
  });

  it("never asks for more than the oldest editor it supports", () => {
    assert.equal(manifest.devDependencies["@types/vscode"].replace("~", "^"), manifest.engines.vscode);
  });
});
