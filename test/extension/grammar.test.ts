/**
 * The directive grammar over small stand-ins for the languages' grammars, and over VS Code's own grammars where they
 * are installed (the packages of the editor tests).
 */
import { strict as assert } from "node:assert";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createOnigScanner, createOnigString, loadWASM } from "vscode-oniguruma";
import { type IGrammar, type IRawGrammar, parseRawGrammar, Registry } from "vscode-textmate";

const root = join(__dirname, "..", "..");
const directives = join(root, "syntaxes", "directives.tmLanguage.json");
const extensions = join(root, "test/vscode/node_modules/code-server/lib/vscode/extensions");

/** A language with comments and strings and nothing else. */
function standIn(scope: string, comment: string): string {
  return JSON.stringify({
    scopeName: scope,
    patterns: [
      { begin: '"', end: '"', name: "string.quoted.double" },
      {
        begin: `(^[ \\t]+)?(?=${comment})`,
        end: "(?!\\G)",
        patterns: [{ begin: comment, end: "\\n", name: "comment.line" }],
      },
    ],
  });
}

const LANGUAGES: readonly { scope: string; comment: string; own: string }[] = [
  { scope: "source.yaml", comment: "#", own: "yaml/syntaxes/yaml.tmLanguage.json" },
  { scope: "source.python", comment: "#", own: "python/syntaxes/MagicPython.tmLanguage.json" },
  { scope: "source.shell", comment: "#", own: "shellscript/syntaxes/shell-unix-bash.tmLanguage.json" },
  { scope: "source.json.comments", comment: "//", own: "json/syntaxes/JSONC.tmLanguage.json" },
  { scope: "source.toml", comment: "#", own: "" },
];

/** Grammars that VS Code's own refer to. */
const OTHERS: Readonly<Record<string, string>> = {
  "source.yaml.1.2": "yaml/syntaxes/yaml-1.2.tmLanguage.json",
  "source.yaml.1.1": "yaml/syntaxes/yaml-1.1.tmLanguage.json",
  "source.yaml.1.0": "yaml/syntaxes/yaml-1.0.tmLanguage.json",
  "source.yaml.1.3": "yaml/syntaxes/yaml-1.3.tmLanguage.json",
  "source.yaml.embedded": "yaml/syntaxes/yaml-embedded.tmLanguage.json",
};

interface Token {
  readonly text: string;
  readonly scopes: readonly string[];
}

async function grammar(scope: string, comment: string, own: string | undefined): Promise<IGrammar> {
  const registry = new Registry({
    onigLib: Promise.resolve({ createOnigScanner, createOnigString }),
    getInjections: (name) => (name === scope ? ["comment.directive.vramlens"] : undefined),
    loadGrammar: async (name): Promise<IRawGrammar | null> => {
      if (name === "comment.directive.vramlens") return parseRawGrammar(readFileSync(directives, "utf8"), directives);
      if (name === scope && own === undefined) return parseRawGrammar(standIn(scope, comment), "stand-in.json");
      const path = join(extensions, name === scope ? (own ?? "") : (OTHERS[name] ?? "none"));
      return existsSync(path) ? parseRawGrammar(readFileSync(path, "utf8"), path) : null;
    },
  });
  const loaded = await registry.loadGrammar(scope);
  assert.ok(loaded, `no grammar for ${scope}`);
  return loaded;
}

function tokens(grammar: IGrammar, text: string): Token[] {
  const found: Token[] = [];
  let state: Parameters<IGrammar["tokenizeLine"]>[1] = null;
  for (const line of text.split("\n")) {
    const result = grammar.tokenizeLine(line, state);
    state = result.ruleStack;
    for (const { startIndex, endIndex, scopes } of result.tokens) {
      found.push({ text: line.slice(startIndex, endIndex).trim(), scopes });
    }
  }
  return found;
}

function scopeOf(found: readonly Token[], text: string): string {
  return found.find((token) => token.text === text)?.scopes.at(-1) ?? "none";
}

describe("directive grammar", () => {
  before(async () => {
    const wasm = createRequire(__filename).resolve("vscode-oniguruma/release/onig.wasm");
    await loadWASM(readFileSync(wasm).buffer as ArrayBuffer);
  });

  for (const { scope, comment, own } of LANGUAGES) {
    const check = async (loaded: IGrammar) => {
      const directive = tokens(loaded, `  ${comment} vramlens: gpu=A100-80GB seq=2048 name="RTX 4090" packing=true`);
      assert.equal(scopeOf(directive, "vramlens"), "keyword.control.directive.vramlens");
      assert.equal(scopeOf(directive, "gpu"), "variable.parameter.vramlens");
      assert.equal(scopeOf(directive, "A100-80GB"), "string.unquoted.vramlens");
      assert.equal(scopeOf(directive, "2048"), "constant.numeric.vramlens");
      assert.equal(scopeOf(directive, '"RTX 4090"'), "string.quoted.vramlens");
      assert.equal(scopeOf(directive, "true"), "constant.language.boolean.vramlens");
      const isComment = (token: Token) => token.text === "" || token.scopes.some((name) => name.startsWith("comment."));
      assert.ok(directive.every(isComment), "all of it stays a comment");

      for (const kind of ["vramlens-disable-next-line", "vramlens-disable-line", "vramlens-disable"]) {
        const silenced = tokens(loaded, `${comment} ${kind} does-not-fit, tight`);
        assert.equal(scopeOf(silenced, kind), "keyword.control.directive.vramlens");
        assert.equal(scopeOf(silenced, "does-not-fit"), "constant.other.finding.vramlens");
        assert.equal(scopeOf(silenced, "tight"), "constant.other.finding.vramlens");
      }

      const behind = scope.startsWith("source.json") ? "[1, 2]," : scope === "source.yaml" ? "key: 8" : "key = 8";
      const trailing = tokens(loaded, `${behind}  ${comment} vramlens: gpu=T4`);
      assert.equal(scopeOf(trailing, "gpu"), "variable.parameter.vramlens");

      const prose = tokens(loaded, `${comment} made with vramlens: see the docs a=b`);
      assert.equal(scopeOf(prose, "a"), "none");
      const after = tokens(loaded, `${comment} vramlens: gpu=T4\n"key"`);
      assert.ok(!after.at(-1)?.scopes.some((name) => name.includes("vramlens")), "it ends with its line");
    };

    it(`marks directives in ${scope}`, async () => check(await grammar(scope, comment, undefined)));

    it(`marks directives in VS Code's grammar of ${scope}`, async function () {
      if (own === "" || !existsSync(join(extensions, own))) this.skip();
      await check(await grammar(scope, comment, own));
    });
  }

  it("leaves strings alone", async () => {
    const found = tokens(await grammar("source.yaml", "#", undefined), 'key: "# vramlens: gpu=T4"');
    assert.ok(found.every(({ scopes }) => scopes.every((name) => !name.includes("vramlens"))));
  });
});
