/** The layers of docs/architecture.md: an import may only point down. */
import { strict as assert } from "node:assert";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { LIBRARIES } from "../src/analysis/frameworks/versions";

const root = join(__dirname, "..");

/** For each layer, the layers it may import from (itself is always allowed). */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  "src/terms": [],
  "src/words": [],
  "src/core": ["src/terms", "src/words"],
  "src/evidence": ["src/core", "src/terms", "src/words"],
  "src/syntax": ["src/terms", "src/words"],
  "src/formats": ["src/syntax", "src/terms", "src/words"],
  "src/analysis": ["src/evidence", "src/formats", "src/syntax", "src/core", "src/terms", "src/words"],
  "src/host": ["src/analysis", "src/terms"],
  "src/server": [
    "src/analysis",
    "src/core",
    "src/evidence",
    "src/formats",
    "src/syntax",
    "src/host",
    "src/terms",
    "src/words",
  ],
  "src/cli": ["src/analysis", "src/core", "src/evidence", "src/host", "src/formats", "src/terms", "src/words"],
  "src/mcp": ["src/analysis", "src/core", "src/host", "src/terms"],
  "src/web": ["src/server", "src/analysis", "src/core"],
  "src/extension": ["src/server", "src/core", "src/evidence", "src/host", "src/terms", "src/words"],
  "webview-ui": ["src/core", "src/evidence", "src/server", "src/terms", "src/words"],
};

/** Packages a layer may use; layers not named may use any dependency. */
const MAY_USE: Readonly<Record<string, readonly string[]>> = { "src/core": ["zod", "zod/mini"] };

function sources(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file) && !file.includes("node_modules"))
    .map((file) => join(directory, file));
}

function layerOf(path: string): string | undefined {
  return Object.keys(MAY_IMPORT).find((layer) => path === layer || path.startsWith(`${layer}/`));
}

const LONGEST_FILE = 400;

/** What is longer, and why. */
const LONGER_FILES: Readonly<Record<string, string>> = {
  "src/terms/settings.ts": "one table: a row a setting",
  "src/words/en/analysis.ts": "one table: a row a sentence",
  "src/words/en/effects.ts": "one table: a row a key's words",
  "src/words/zh-cn/effects.ts": "one table: a row a key's words",
  "src/core/simulate.ts": "the steps of a run, in their order",
  "src/core/engine/torch.ts": "one class: the state that every operator runs in",
  "src/core/engine/ledger.ts": "one class: events, with what plays and rewinds them",
  "src/core/engine/folding/unroller.ts": "one class: the copies of a layer's events",
  "src/core/engine/interpreter/index.ts": "one class: the kinds of instructions",
};

/** The head of a table by names: `const X: Readonly<Record<string, …>> = {`, over one line or several. */
const TABLE =
  /^(?:export )?const (\w+): (?:Readonly<)?(?:Partial<)?(?:Readonly<)?Record<\s*string\b(?:[^=]|=>)*? = \{/gm;

/** A tensor has a node, a node has tensors, and both allocate: as in PyTorch, none of them can be told without the others. */
const ENGINE = "src/core/engine/";

/** Files that a file imports by a relative path, as they would lie on the disk. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  return [...text.matchAll(/^(?:import|export)\b[^;]*?\bfrom "(\.[^"]+)"/gm)].flatMap(([, target]) => {
    const path = join(dirname(file), target ?? "");
    return [`${path}.ts`, `${path}.tsx`, join(path, "index.ts")];
  });
}

/** Sets of files that reach one another, by Tarjan's algorithm. */
function circlesOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string): number => {
    const place = order.size;
    order.set(file, place);
    low.set(file, place);
    open.push(file);
    for (const other of imports.get(file) ?? []) {
      const reached = order.has(other) ? (open.includes(other) ? order.get(other)! : place) : visit(other);
      low.set(file, Math.min(low.get(file)!, reached));
    }
    if (low.get(file) === place) {
      const circle = open.splice(open.indexOf(file));
      if (circle.length > 1) circles.push(circle);
    }
    return low.get(file)!;
  };
  for (const file of imports.keys()) if (!order.has(file)) visit(file);
  return circles;
}

describe("architecture", () => {
  it("tables that are looked up by names have those names alone (src/terms/table.ts)", () => {
    const wrong = Object.keys(MAY_IMPORT).flatMap((layer) =>
      sources(join(root, layer)).flatMap((file) =>
        [...readFileSync(file, "utf8").matchAll(TABLE)].map(
          ([, name]) => `${relative(root, file)}: wrap ${name} in table({ … })`,
        ),
      ),
    );
    assert.deepEqual(wrong, []);
  });

  it("is what docs/architecture.md says of the layers, on a page that is read in five minutes", () => {
    const page = readFileSync(join(root, "docs/architecture.md"), "utf8");
    const rows = [...page.matchAll(/^\| `([\w/-]+)\/` \|[^|]*\| ([^|]+) \|$/gm)].map(([, layer = "", below = ""]) => [
      layer,
      below === "nothing"
        ? []
        : below
            .split(", ")
            .map((name) => `src/${name}`)
            .sort(),
    ]);
    const layers = Object.entries(MAY_IMPORT).map(([layer, below]) => [layer, [...below].sort()]);
    assert.deepEqual(Object.fromEntries(rows), Object.fromEntries(layers));
    assert.ok(page.split(/\s+/).length <= 1200);
  });

  for (const layer of Object.keys(MAY_IMPORT)) {
    it(`${layer} imports only what is below it`, () => {
      const wrong: string[] = [];
      for (const file of sources(join(root, layer))) {
        const here = relative(root, file).replaceAll("\\", "/");
        const text = readFileSync(file, "utf8");
        for (const match of text.matchAll(/(?<!["'])(?:from|import)\s*\(?\s*["']([^"']+)["']/g)) {
          const target = match[1] ?? "";
          if (target.startsWith(".")) {
            const other = layerOf(posix.normalize(posix.join(posix.dirname(here), target)));
            if (other !== layer && !(other !== undefined && MAY_IMPORT[layer]?.includes(other)))
              wrong.push(`${here}: ${target}`);
          } else if (MAY_USE[layer] !== undefined && !MAY_USE[layer].includes(target)) {
            wrong.push(`${here}: ${target}`);
          }
        }
      }
      assert.deepEqual(wrong, []);
    });
  }

  it("has no circle of imports but the engine's own", () => {
    const files = Object.keys(MAY_IMPORT).flatMap((layer) => sources(join(root, layer)));
    const known = new Set(files);
    const imports = new Map(files.map((file) => [file, importsOf(file).filter((other) => known.has(other))]));
    const circles = circlesOf(imports).map((circle) =>
      circle.map((file) => relative(root, file).replaceAll("\\", "/")),
    );
    const engine = circles.filter((circle) => circle.every((file) => file.startsWith(ENGINE)));
    assert.deepEqual(
      circles.filter((circle) => !engine.includes(circle)),
      [],
    );
    assert.equal(engine.length, 1);
  });

  it("asks families for traits, and no code of the analysis outside of their rows for their names", () => {
    const families = readdirSync(join(root, "models", "graphs")).map((file) => file.replace(/\.json$/, ""));
    const compares = new RegExp(
      `(?:[!=]==\\s*|startsWith\\(|\\.has\\()"(?:${families.join("|").replaceAll(".", "\\.")})"`,
    );
    const found = sources(join(root, "src/analysis")).filter((file) => compares.test(readFileSync(file, "utf8")));
    assert.deepEqual(
      found.map((file) => relative(root, file)),
      [],
    );
  });

  it("asks frameworks and libraries for traits, and no code outside of a framework's own folder for its name", () => {
    const formats = join(root, "src/formats");
    const folders = readdirSync(formats, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const names = [...new Set([...folders.map(({ name }) => name), ...LIBRARIES, "fsdp", "unsloth", "liger"])];
    const layers = readdirSync(join(root, "src")).map((layer) => join(root, "src", layer));
    const found = [...layers, join(root, "webview-ui")].flatMap(sources).flatMap((file) => {
      const here = relative(formats, file);
      const [own = ""] = here.split(/[\\/]/);
      const text = readFileSync(file, "utf8");
      return comparisons(text, names)
        .filter(({ name }) => here.startsWith("..") || (own !== name && !KEYS_TOO.has(name)))
        .map(({ line }) => `${relative(root, file)}: ${line}`);
    });
    assert.deepEqual(found, []);
  });

  it("keeps names of families, frameworks and libraries out of patterns and of constants that are compared", () => {
    const folders = readdirSync(join(root, "src/formats"), { withFileTypes: true }).filter((one) => one.isDirectory());
    const families = readdirSync(join(root, "models", "graphs")).map((file) => file.replace(/\.json$/, ""));
    const names = new Set([...folders.map(({ name }) => name), ...families, ...LIBRARIES, "fsdp", "unsloth", "liger"]);
    const files = ["src/analysis", "src/server", "src/cli", "src/mcp", "src/core", "src/extension", "webview-ui"]
      .flatMap((layer) => sources(join(root, layer)))
      .map((file) => ({ file: relative(root, file).replaceAll("\\", "/"), text: readFileSync(file, "utf8") }));
    const constants = files.flatMap(({ text }) =>
      [...text.matchAll(/^(?:export )?const (\w+)(?:: \w+)? = "([^"]+)";$/gm)].flatMap(
        ([, constant = "", value = ""]) => (names.has(value) ? [constant] : []),
      ),
    );
    const compared = new RegExp(`[!=]== (?:${constants.join("|")})\\b|\\b(?:${constants.join("|")}) [!=]==`, "g");
    const found = files.flatMap(({ file, text }) => [
      ...[...text.matchAll(compared)].map(([hit]) => `${file}: ${hit}`),
      // A pattern of the beginning: `/^gemma2/`, `/^(whisper|canary)$/`.
      ...[...text.matchAll(/\/\^(?![^/\n]*\.)[^/\n]*\//g)].flatMap(([pattern]) =>
        pattern.split(/[^\w-]+/).some((word) => names.has(word) && word !== "jobs") && !READ_NAMES.test(file)
          ? [`${file}: ${pattern}`]
          : [],
      ),
    ]);
    assert.deepEqual(found, []);
  });

  it("has files of one subject, short enough to be read at once", () => {
    const long = [...Object.keys(MAY_IMPORT)]
      .flatMap((layer) => sources(join(root, layer)))
      .map(
        (file) =>
          [relative(root, file).replaceAll("\\", "/"), readFileSync(file, "utf8").split("\n").length - 1] as const,
      )
      .filter(([file, lines]) => lines > LONGEST_FILE && LONGER_FILES[file] === undefined);
    assert.deepEqual(long, []);
    const python = ["capture", "python"].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".py"))
        .map((file) => `${folder}/${file.replaceAll("\\", "/")}`)
        .filter((file) => readFileSync(join(root, file), "utf8").split("\n").length - 1 > LONGEST_FILE),
    );
    assert.deepEqual(python, []);
    const shorter = Object.keys(LONGER_FILES).filter(
      (file) => readFileSync(join(root, file), "utf8").split("\n").length - 1 <= LONGEST_FILE,
    );
    assert.deepEqual(shorter, []);
  });

  it("asks formats and documents in the analysis for what they are written in, and compares no id, carrier or language", () => {
    const compares =
      /[!=]==\s*"(?:shell|python|notebook)"|\.carrier\b|\bformat\??\.id\s*[!=]==|[!=]==\s*\w*[fF]ormat\??\.id\b/;
    const found = sources(join(root, "src/analysis")).filter((file) => compares.test(readFileSync(file, "utf8")));
    assert.deepEqual(
      found.map((file) => relative(root, file)),
      [],
    );
  });
});

/** Where patterns read names: what a command or a class is called says which framework runs, and Python's modules are called by their library. */
const READ_NAMES = /^src\/(?:analysis\/frameworks|core\/training\/own-loss)\//;

/** Names of frameworks that are also those of keys and settings, which formats read by their names. */
const KEYS_TOO = new Set(["deepspeed", "fsdp", "accelerate", "unsloth"]);

/** Lines that compare something with one of the names, or look a format's id up. */
function comparisons(text: string, names: readonly string[]): { readonly name: string; readonly line: string }[] {
  const any = `"(${names.map((name) => name.replace(/\W/g, "\\$&")).join("|")})"`;
  const asks = new RegExp(
    `[!=]==\\s*${any}|${any}\\s*[!=]==|\\bcase\\s+${any}|\\.(?:includes|startsWith|endsWith)\\(${any}|` +
      `new Set(?:<[^>]*>)?\\(\\[[^\\]]*?${any}|format\\??\\.id\\s*[!=]==\\s*"|\\.(?:has|includes)\\([\\w.?]*format\\??\\.id|` +
      "\\[[\\w.?]*format\\??\\.id\\]",
    "g",
  );
  return [...text.matchAll(asks)].map((match) => {
    const start = text.lastIndexOf("\n", match.index) + 1;
    const line = text.slice(start, text.indexOf("\n", match.index)).trim();
    return { name: match.slice(1).find((group) => group !== undefined) ?? "", line };
  });
}

/** Where sentences of another language may stand: the tables of words, and the rules, which bring both languages along. */
const WORDS_STAND = [
  "src/words/zh-cn/",
  "src/analysis/findings/rules/",
  "src/cli/words.ts",
  "src/server/text.ts",
  "src/server/devices.ts",
  "src/web/words.ts",
  "webview-ui/messages/zh-cn.ts",
  "webview-ui/evidence/messages/zh-cn.ts",
];

describe("words", () => {
  it("of another language stand in tables by id alone, so that no English sentence is a key", () => {
    const found = ["src", "webview-ui"]
      .flatMap((folder) => sources(join(root, folder)))
      .map((file) => relative(root, file).replaceAll("\\", "/"))
      .filter((file) => !WORDS_STAND.some((place) => file.startsWith(place)))
      .filter((file) => /[\u4e00-\u9fff]/.test(readFileSync(join(root, file), "utf8")));
    assert.deepEqual(found, []);
  });

  it("are named by ids: no table of words has a sentence as its key", () => {
    assert.ok(!existsSync(join(root, "l10n")), "sentences of the client stand in src/words, by id, like all others");
    const keyed = sources(join(root, "src/words")).flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(/^ {2}"([^"]*\s[^"]*)":/gm)].map((match) => match[1]),
    );
    assert.deepEqual(keyed, []);
  });
});
