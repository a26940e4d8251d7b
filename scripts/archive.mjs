/**
 * The packaged data (`models/`) as one archive, which `src/analysis/model-archive.ts` reads: graphs are alike, and compressed
 * together they take a third of what each takes alone.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compress, init } from "@bokuweb/zstd-wasm";
import { root } from "./process.mjs";

/** The strongest whose window holds all of it; above, seconds are spent on a thousandth. */
const LEVEL = 19;

/** The table of parts that a stored file goes on from; it says so at its beginning. */
const LIKE = /"like":"([\w.-]+)"/;

/** Paths below models/, those beside one another that are alike: files that go on from one table, those of large tables first. */
function inOrder(folder) {
  const below = (name) => readdirSync(join(folder, name)).map((file) => `${name}/${file}`);
  const graphs = below("graphs").map((path) => {
    const like = LIKE.exec(readFileSync(join(folder, path), "utf8").slice(0, 200))?.[1] ?? "";
    return { path, like };
  });
  const alike = (name) => (name === "" ? 0 : graphs.filter(({ like }) => like === name).length);
  const sizes = new Map(graphs.map(({ like }) => [like, alike(like)]));
  const key = ({ like, path }) => `${String(1e6 - sizes.get(like))} ${like} ${path}`;
  const sorted = graphs.sort((a, b) => (key(a) < key(b) ? -1 : 1)).map(({ path }) => path);
  const others = ["parts", "trainers", "releases"].flatMap((name) => below(name).sort());
  return ["catalogue.json", ...others, ...sorted];
}

/** Paths and bytes of what the archive holds. */
export function archivedFiles(models) {
  return inOrder(models).map((path) => [path, readFileSync(join(models, path))]);
}

/** Files as one: a line of JSON with their paths and lengths in bytes, then the files. */
export function archiveOf(files) {
  const head = `${JSON.stringify(files.map(([path, bytes]) => [path, bytes.length]))}\n`;
  return Buffer.concat([Buffer.from(head), ...files.map(([, bytes]) => bytes)]);
}

/** Zstandard; the same bytes on every machine. */
export async function compressed(bytes, level = LEVEL) {
  await init();
  return compress(bytes, level);
}

/** Writes the archive into a folder; seconds of work, which are saved where it holds what models/ holds now. */
export async function writeModelArchive(folder) {
  const content = archiveOf(archivedFiles(join(root, "models")));
  const [file, note] = [join(folder, "models.zst"), join(folder, "models.sha256")];
  const digest = createHash("sha256").update(content).digest("hex");
  const isWritten = existsSync(file) && existsSync(note) && readFileSync(note, "utf8") === digest;
  if (!isWritten) {
    writeFileSync(file, await compressed(content));
    writeFileSync(note, digest);
  }
  return [file, note];
}
