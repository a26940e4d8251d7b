/**
 * Lints and formats the Python of the repository with Ruff compiled to WebAssembly: the same rules as `ruff` with
 * ruff.toml, and no Python is needed.
 *
 * usage: npm run python [-- --check]   (--check writes nothing and fails on what is not formatted)
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PositionEncoding, Workspace } from "@astral-sh/ruff-wasm-nodejs";
import { parse } from "smol-toml";
import { root } from "./process.mjs";

const FOLDERS = ["capture", "python"];

const checkOnly = process.argv.includes("--check");
const ruff = new Workspace(parse(readFileSync(join(root, "ruff.toml"), "utf8")), PositionEncoding.Utf16);

let wrong = 0;
for (const folder of FOLDERS.filter((name) => existsSync(join(root, name)))) {
  for (const name of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).sort()) {
    if (!name.endsWith(".py") || /(^|[\\/])(\.|build|dist)/.test(name)) continue;
    const file = join(folder, name);
    const text = readFileSync(join(root, file), "utf8").replaceAll("\r\n", "\n");
    const faults = ruff.check(text);
    for (const { code, message, start_location: at } of faults) {
      console.log(`${file}:${at.row}:${at.column} ${code ?? "syntax"} ${message}`);
    }
    wrong += faults.length;
    const formatted = faults.some(({ code }) => code === null) ? text : ruff.format(text);
    if (formatted === text) continue;
    if (checkOnly) console.log(`${file} is not formatted: npm run python`);
    else writeFileSync(join(root, file), formatted);
    wrong += checkOnly ? 1 : 0;
  }
}
process.exit(wrong === 0 ? 0 : 1);
