/**
 * Judges every regular expression of the sources with recheck: is the time it takes linear in the text? Fails where it
 * is not, and no proof stands in test/patterns.json. That file remembers what was judged; recheck is installed beside
 * the system's temporary files (60 MB) when there is something new.
 *
 * usage: npm run patterns [-- --check]   (--check writes nothing)
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "acorn";
import { transformSync } from "esbuild";
import { root, run } from "./process.mjs";

const VERSION = "4.5.0";
const TABLE = join(root, "test", "patterns.json");
const FOLDERS = ["src", "webview-ui"];

/** Regular expressions by the files that have them; `made`: files that put some together. */
function patternsIn() {
  const literals = new Map();
  const made = {};
  for (const folder of FOLDERS) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).sort()) {
      if (!/\.ts$/.test(name) || name.includes("node_modules")) continue;
      const file = `${folder}/${name.replaceAll("\\", "/")}`;
      const { code } = transformSync(readFileSync(join(root, file), "utf8"), { loader: "ts", target: "esnext" });
      const onToken = ({ type, value }) => {
        if (type.label !== "regexp") return;
        const pattern = `/${value.pattern}/${value.flags}`;
        literals.set(pattern, [...(literals.get(pattern) ?? []), file]);
      };
      parse(code, { ecmaVersion: "latest", sourceType: "module", onToken });
      if (code.includes("new RegExp(")) made[file] = true;
    }
  }
  return { literals, made };
}

async function recheck() {
  const folder = join(tmpdir(), `vram-lens-recheck-${VERSION}`);
  if (!existsSync(join(folder, "node_modules", "recheck"))) {
    const npm = process.platform === "win32" ? "npm.cmd" : "npm";
    const args = ["install", "--prefix", folder, "--no-save", "--no-audit", "--no-fund", `recheck@${VERSION}`];
    const { status } = await run(npm, args, { shell: process.platform === "win32" });
    if (status !== 0) process.exit(1);
  }
  return createRequire(join(folder, "node_modules", "recheck", "package.json"))("recheck");
}

async function main() {
  const { literals, made } = patternsIn();
  const before = existsSync(TABLE) ? JSON.parse(readFileSync(TABLE, "utf8")) : { linear: [], proven: {}, made: {} };
  const known = new Set(before.linear);
  const open = [...literals.keys()].filter((pattern) => !known.has(pattern) && before.proven[pattern] === undefined);
  const suspects = [];
  if (open.length > 0) {
    const { checkSync } = await recheck();
    for (const pattern of open) {
      const at = pattern.lastIndexOf("/");
      const { status, complexity } = checkSync(pattern.slice(1, at), pattern.slice(at + 1), { timeout: 20_000 });
      if (status === "safe") known.add(pattern);
      else suspects.push(`${status} (${complexity?.summary ?? "timeout"}): ${pattern}  ${literals.get(pattern)}`);
    }
  }
  for (const file of Object.keys(made))
    if (before.made[file] === undefined)
      suspects.push(`a pattern is put together in ${file}: say in ${TABLE} why it is linear`);
  const linear = [...known].filter((pattern) => literals.has(pattern)).sort();
  const proven = Object.fromEntries(Object.entries(before.proven).filter(([pattern]) => literals.has(pattern)));
  const reasons = Object.fromEntries(Object.entries(before.made).filter(([file]) => made[file] !== undefined));
  if (!process.argv.includes("--check"))
    writeFileSync(TABLE, `${JSON.stringify({ linear, proven, made: reasons }, null, 2)}\n`);
  console.log(
    `${linear.length} linear, ${Object.keys(proven).length} proven, ${suspects.length} to be mended or proven`,
  );
  for (const suspect of suspects) console.log(suspect);
  if (suspects.length > 0) process.exit(1);
}

await main();
