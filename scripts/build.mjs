/**
 * Bundles every entry of the project into dist/ with esbuild.
 *
 * usage: node scripts/build.mjs [--development] [--watch]
 * Development keeps names and writes source maps; production minifies and writes none.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { build, context } from "esbuild";
import { minify } from "terser";
import { packProgram, writeModelArchive } from "./archive.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const development = process.argv.includes("--development");
const watch = process.argv.includes("--watch");
const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));

/** Node programs and the desktop extension host: CommonJS, packages in their ES module form so that they shrink. */
const node = { platform: "node", target: "node20", format: "cjs", mainFields: ["module", "main"] };
/** One program for Node and for browsers: what is Node's alone stands behind dynamic imports, which run only there. */
const anywhere = {
  platform: "neutral",
  target: "es2022",
  mainFields: ["module", "main"],
  conditions: ["node", "browser"],
  // Streams are everywhere in what the programs run in; only older Node had them in a module.
  alias: { "stream/web": join(root, "scripts", "streams.mjs") },
  external: ["vscode", ...builtinModules.filter((name) => name !== "stream/web"), "node:*"],
};
/** A page gets the rows of settings that are tried as data, without the table of all settings that they are told from. */
const triedRows = {
  name: "tried-rows",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]src[\\/]terms[\\/]tried\.ts$/ }, async ({ path }) => {
      const { outputFiles } = await build({ entryPoints: [path], bundle: true, write: false, format: "esm" });
      const source = Buffer.from(outputFiles[0].contents).toString("base64");
      const { TRIED } = await import(`data:text/javascript;base64,${source}`);
      return { contents: `export const TRIED = new Map(${JSON.stringify([...TRIED])});`, loader: "js" };
    });
  },
};
/** Names that several libraries take stand once in a bundle: words by the set of formats that have them. */
const sharedNames = {
  name: "shared-names",
  setup({ onLoad, onResolve }) {
    const formats = join(root, "src", "formats");
    const files = readdirSync(formats).filter((name) => existsSync(join(formats, name, "accepted.json")));
    const idOf = (name) => String.fromCharCode("A".charCodeAt(0) + files.indexOf(name));
    onLoad({ filter: /[\\/]formats[\\/][\w-]+[\\/]accepted\.json$/ }, ({ path }) => ({
      contents: `import { namesOf } from "shared-names"; export const names = namesOf("${idOf(basename(dirname(path)))}");\nexport default { names };`,
      loader: "js",
    }));
    onResolve({ filter: /^shared-names$/ }, ({ path }) => ({ path, namespace: "shared-names" }));
    onLoad({ filter: /.*/, namespace: "shared-names" }, () => {
      const owners = new Map();
      for (const name of files)
        for (const word of JSON.parse(readFileSync(join(formats, name, "accepted.json"), "utf8")).names)
          owners.set(word, (owners.get(word) ?? "") + idOf(name));
      const groups = new Map();
      for (const [word, ids] of [...owners].sort()) groups.set(ids, [...(groups.get(ids) ?? [ids]), word]);
      const lines = [...groups.values()].map((words) => words.join(" ")).sort();
      return {
        contents: `const groups = ${JSON.stringify(lines)}.map((line) => line.split(" "));
          export const namesOf = (id) => groups.flatMap(([ids, ...words]) => (ids.includes(id) ? words : [])).sort();`,
        loader: "js",
      };
    });
  },
};
/** Captured fields that others than their format's rows ask for, too. */
const ASKED_BY_OTHERS = new Set(["hf-training-arguments", "trl"]);
const FIELDS = /[\\/]formats[\\/][\w-]+[\\/]fields\.json$/;
/** Captured fields that the rows of a format ask for, by its folder: the rows are made, and who asks is written down. */
const asked = new Map();
async function askedFields(path) {
  const folder = dirname(path);
  const { about: _, source: __, writtenBy: ___, fields, ...rest } = JSON.parse(readFileSync(path, "utf8"));
  const recorded = {
    name: "recorded-fields",
    setup({ onLoad }) {
      onLoad({ filter: FIELDS }, (file) => {
        if (file.path !== path) return undefined;
        const ask = "get: (all, name) => (asked.add(name), all[name])";
        const contents = `export const asked = new Set(); export default { ...${JSON.stringify(rest)}, fields: new Proxy(${JSON.stringify(fields)}, { ${ask} }) };`;
        return { contents, loader: "js" };
      });
    },
  };
  const entry = `import "./keys"; export { asked } from "./fields.json";`;
  const stdin = { contents: entry, resolveDir: folder, loader: "ts" };
  const { outputFiles } = await build({ stdin, bundle: true, write: false, format: "esm", plugins: [recorded] });
  const source = Buffer.from(outputFiles[0].contents).toString("base64");
  const { asked: names } = await import(`data:text/javascript;base64,${source}`);
  const kept = Object.entries(fields).filter(([name]) => names.has(name));
  // Which release first had a field is for those who write rows.
  return { ...rest, fields: Object.fromEntries(kept.map(([name, { since: _, ...field }]) => [name, field])) };
}
/** Of a library's captured fields a bundle gets those that a row of its format asks for. */
const namedFields = {
  name: "named-fields",
  setup({ onLoad }) {
    onLoad({ filter: FIELDS }, async ({ path }) => {
      const folder = dirname(path);
      if (ASKED_BY_OTHERS.has(basename(folder)) || !existsSync(join(folder, "keys.ts"))) return undefined;
      if (!asked.has(path)) asked.set(path, askedFields(path));
      return { contents: JSON.stringify(await asked.get(path)), loader: "json" };
    });
  },
};
const page = { platform: "browser", target: "es2022", format: "esm", plugins: [triedRows, sharedNames, namedFields] };

const ENTRIES = [
  { in: "src/cli/start.ts", out: "cli.js", options: { ...node, banner: { js: "#!/usr/bin/env node" } }, program: true },
  { in: "src/cli/main.ts", out: "command-line.js", options: node },
  { in: "src/mcp/main.ts", out: "mcp.js", options: { ...node, banner: { js: "#!/usr/bin/env node" } }, program: true },
  { in: "src/cli/api.ts", out: "api.js", options: node },
  // Started by thread.js in a thread or, where there are none, in the server's own.
  {
    in: "src/server/apart/worker.ts",
    out: "analysis.js",
    options: {
      ...anywhere,
      // Its loader has it.
      external: [...anywhere.external, "xz-decompress"],
      conditions: ["browser"],
      format: "iife",
      globalName: "VramLensAnalysis",
      footer: { js: 'if (typeof module === "object") module.exports = VramLensAnalysis;' },
    },
  },
  {
    in: "src/server/apart/thread.ts",
    out: "thread.js",
    options: {
      ...anywhere,
      conditions: ["browser"],
      format: "iife",
      globalName: "VramLensThread",
      footer: { js: 'if (typeof module === "object") module.exports = VramLensThread;' },
    },
  },
  { in: "src/server/main.ts", out: "server.js", options: { ...anywhere, format: "iife" } },
  { in: "src/extension/main.ts", out: "extension.js", options: { ...anywhere, format: "cjs" } },
  { in: "webview-ui/main.ts", out: "webview.js", options: page },
  { in: "webview-ui/main.css", out: "webview.css", options: page },
  { in: "webview-ui/evidence/main.ts", out: "evidence.js", options: page },
  { in: "webview-ui/evidence/main.css", out: "evidence.css", options: page },
  { in: "webview-ui/evidence/worker.ts", out: "evidence-worker.js", options: { ...page, format: "iife" } },
];

/** Minifies once more what esbuild has minified: six hundredths of the extension's package. ASCII alone takes half the memory. */
async function shorten(file) {
  const { code } = await minify(await readFile(file, "utf8"), {
    ...{ compress: { ecma: 2022, passes: 3 }, mangle: true, ecma: 2022, module: false },
    format: { ascii_only: true },
  });
  await writeFile(file, code);
}

/** Entries that are there; a folder still to be written is left out. */
const entries = ENTRIES.filter((entry) => existsSync(join(root, entry.in)));

function optionsOf(entry) {
  return {
    absWorkingDir: root,
    entryPoints: [entry.in],
    outfile: join("dist", entry.out),
    bundle: true,
    minify: !development,
    sourcemap: development ? "linked" : false,
    sourcesContent: false,
    legalComments: "none",
    logLevel: "warning",
    plugins: [sharedNames, namedFields],
    define: {
      "process.env.VRAM_LENS_VERSION": JSON.stringify(version),
      ...(entry.options.platform === "node" ? {} : { global: "globalThis" }),
    },
    ...entry.options,
  };
}

mkdirSync(join(root, "dist"), { recursive: true });

if (watch) {
  const contexts = await Promise.all(entries.map((entry) => context(optionsOf(entry))));
  await Promise.all(contexts.map((one) => one.watch()));
  console.log(`watching ${entries.map((entry) => entry.out).join(", ")}`);
} else {
  const dist = join(root, "dist");
  // Compressed in a thread of its own while programs are made.
  const archive = writeModelArchive(dist);
  const results = await Promise.all(entries.map((entry) => build({ ...optionsOf(entry), metafile: true }))).catch(
    () => {
      // esbuild has already said where.
      process.exit(1);
    },
  );
  const shipped = entries.filter(({ out, options }) => options.platform !== "node" && out.endsWith(".js"));
  if (!development) await Promise.all(shipped.map(({ out }) => shorten(join(root, "dist", out))));
  const packed = [...(await archive), ...(development ? [] : await packProgram(dist, "analysis"))];
  const written = new Set([
    ...results.flatMap((result) => Object.keys(result.metafile.outputs)),
    ...packed.map((file) => `dist/${basename(file)}`),
  ]);
  for (const name of readdirSync(join(root, "dist"))) {
    // What an earlier build left behind.
    if (!written.has(`dist/${name}`)) rmSync(join(root, "dist", name), { recursive: true });
  }
  for (const entry of entries) if (entry.program) chmodSync(join(root, "dist", entry.out), 0o755);
  const sizes = [...written]
    .filter((path) => existsSync(join(root, path)))
    .map((path) => `${path} ${(statSync(join(root, path)).size / 1024).toFixed(0)} kB`);
  console.log(sizes.join("  "));
}
