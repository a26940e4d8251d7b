/**
 * The packaged data (`models/`) as one archive, which `src/analysis/models/model-archive.ts` reads: graphs are alike, and compressed
 * together they take a third of what each takes alone.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import lzma from "lzma-native";
import { root } from "./process.mjs";

/**
 * LZMA2 for text: literals by the four bits before them, no alignment. The dictionary holds all, which takes a hundredth off the
 * archive; it is memory of whoever unpacks.
 */
const TEXT = { dictSize: 16 << 20, lc: 4, lp: 0, pb: 0, mode: lzma.MODE_NORMAL, mf: lzma.MF_BT4, niceLen: 273 };

/** The table of parts that a stored file goes on from; it says so at its beginning. */
const LIKE = /"like":"([\w.-]+)"/;

/** What a person reads in an entry of the catalogue and no program does. */
const FOR_PEOPLE = new Set(["stated", "license", "note"]);

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

/**
 * A value of a stored file (`capture/storing/stored.py`) with its own parts named by how far back they are: numbers from the
 * beginning are others in every file, distances are the same wherever code is alike.
 *
 * @param at how many parts there are where it stands
 * @param own the first part that is the file's own, not the table's that it goes on from
 */
function byDistance(value, at, own) {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => byDistance(item, at, own));
  if (typeof value.same === "number") return value.same < own ? value : { back: at - value.same };
  if (Array.isArray(value.run)) {
    const [part, ...stretch] = value.run;
    return part < own ? value : { run: [part - at, ...stretch] };
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, byDistance(item, at, own)]));
}

/** A stored file as the archive has it. */
function archived(file, partsOf) {
  const own = file.like === undefined ? 0 : partsOf(file.like);
  const at = own + file.parts.length;
  const fields = Object.entries(file).map(([key, value]) => [
    key,
    key === "parts" ? value.map((part, n) => byDistance(part, own + n, own)) : byDistance(value, at, own),
  ]);
  return Object.fromEntries(fields);
}

/** The catalogue without what is for people. */
function catalogued({ models, ...rest }) {
  const brief = (entry) => Object.fromEntries(Object.entries(entry).filter(([key]) => !FOR_PEOPLE.has(key)));
  return { ...rest, models: models.map(brief) };
}

/** Paths and bytes of what the archive holds. */
export function archivedFiles(models) {
  const read = (path) => JSON.parse(readFileSync(join(models, path), "utf8"));
  const partsOf = (table) => read(`parts/${table}.json`).parts.length;
  return inOrder(models).map((path) => {
    const file = path === "catalogue.json" ? catalogued(read(path)) : read(path);
    return [path, Buffer.from(JSON.stringify(file.parts === undefined ? file : archived(file, partsOf)))];
  });
}

/** JSON's signs between names and values, with the key among them, and words: what most of the files is, over and over. */
const SIGNS = /(?:"|[[\]{},:]+"?)?\w+":["[{]*|["[\]{},:]*[[\]{},:]["[\]{},:]*|[A-Za-z_]{4,}/g;
/** Bytes that no file has, which are ASCII: each stands for a stretch of a text. 0 is left out, and what ends the first line. */
const CODES = Array.from({ length: 256 }, (_, byte) => byte).filter(
  (byte) => (byte < 32 || byte > 126) && byte !== 0 && byte !== 10,
);

/** JSON in ASCII: what is not stands in strings, where it may be escaped. */
function ascii(bytes) {
  return bytes.toString().replace(/[^\0-\x7e]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The stretches that take most of the files. */
function stretchesOf(texts) {
  const counts = new Map();
  for (const text of texts)
    for (const [signs] of text.matchAll(SIGNS)) if (signs.length > 1) counts.set(signs, (counts.get(signs) ?? 0) + 1);
  const saved = ([signs, count]) => count * (signs.length - 1);
  const largest = [...counts].sort((a, b) => saved(b) - saved(a) || (a[0] < b[0] ? -1 : 1));
  return largest.slice(0, CODES.length).map(([signs]) => signs);
}

/**
 * Files as one: a line of JSON with their paths and lengths in bytes and with stretches of text, then the files, with a byte
 * for each such stretch. Seven hundredths less than without once compressed, and four tenths as much to unpack.
 */
export function archiveOf(files) {
  const texts = files.map(([, bytes]) => ascii(bytes));
  const stretches = stretchesOf(texts);
  const codes = new Map(stretches.map((signs, at) => [signs, String.fromCharCode(CODES[at])]));
  const parts = texts.map((text) =>
    Buffer.from(
      text.replace(SIGNS, (signs) => codes.get(signs) ?? signs),
      "latin1",
    ),
  );
  const places = files.map(([path], at) => [path, parts[at].length]);
  return Buffer.concat([Buffer.from(`${JSON.stringify({ places, stretches })}\n`), ...parts]);
}

/** XZ; the same bytes on every machine. Strong as TEXT is takes ten seconds, LZMA2's own defaults one. */
export async function compressed(bytes, options = TEXT) {
  const filters = [{ id: lzma.FILTER_LZMA2, options }];
  const stream = lzma.createStream("streamEncoder", { filters, check: lzma.CHECK_CRC32 });
  const chunks = [];
  stream.on("data", (chunk) => chunks.push(chunk));
  stream.end(bytes);
  await finished(stream);
  return Buffer.concat(chunks);
}

/** Writes a file packed; seconds of work, which are saved where the folder holds what would be written. */
async function writePacked(folder, name, content) {
  const [file, note] = [join(folder, `${name}.xz`), join(folder, `${name}.sha256`)];
  const digest = createHash("sha256").update(content).digest("hex");
  const isWritten = existsSync(file) && existsSync(note) && readFileSync(note, "utf8") === digest;
  if (!isWritten) {
    writeFileSync(file, await compressed(content));
    writeFileSync(note, digest);
  }
  return [file, note];
}

/** Writes the archive of models/ into a folder. */
export async function writeModelArchive(folder) {
  return writePacked(folder, "models", archiveOf(archivedFiles(join(root, "models"))));
}

/** Packs a program of a folder. */
export async function packProgram(folder, name) {
  const written = await writePacked(folder, name, readFileSync(join(folder, `${name}.js`)));
  rmSync(join(folder, `${name}.js`));
  return written;
}
