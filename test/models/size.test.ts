/** What the packaged data takes; `scripts/package.mjs` holds the whole package to its bound. */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import { ModelArchive, withArchive } from "../../src/analysis/models/model-archive";
import { storedGraphs, withTable } from "../../src/core/graph/stored";
import { memoryRuntime } from "../analysis/memory-runtime";

/** `scripts/archive.mjs`. */
interface Archive {
  readonly archivedFiles: (models: string) => readonly (readonly [string, Buffer])[];
  readonly archiveOf: (files: readonly (readonly [string, Uint8Array])[]) => Buffer;
  readonly compressed: (bytes: Uint8Array, options?: object) => Promise<Uint8Array>;
}

const MODELS = join(__dirname, "..", "..", "models");

describe("model data", () => {
  let archive: Archive;

  before(async () => {
    archive = await import(pathToFileURL(join(__dirname, "..", "..", "scripts", "archive.mjs")).href);
  });

  it("takes less than 0.75 MB of the package", () => {
    const content = archive.archiveOf(archive.archivedFiles(MODELS));
    // A quick stand-in for the package's own compression, which makes a fifth less of it in seconds.
    const params = { [constants.BROTLI_PARAM_QUALITY]: 6, [constants.BROTLI_PARAM_LGWIN]: 24 };
    const { length } = brotliCompressSync(content, { params });
    assert.ok(length < 0.75e6, `${length} bytes compressed`);
  });

  it("is in the archive what it is in files", async () => {
    const opened = new ModelArchive(await archive.compressed(archive.archiveOf(archive.archivedFiles(MODELS)), {}));
    const text = async (name: string) => readFileSync(join(MODELS, name), "utf8");
    const graphs = async (name: string, read: (name: string) => Promise<string | undefined>) =>
      withTable(
        (await read(name)) ?? "",
        async (table) => read(`parts/${table}.json`),
        (file, table) => {
          const content = storedGraphs(file, table);
          assert.ok(content);
          return { ...content.rest, graphs: Array.from({ length: content.count }, (_, n) => content.graph(n)) };
        },
      );
    const stored = ["graphs/llama.json", "graphs/qwen3_5.json", "graphs/t5.json", "graphs/torchvision.resnet.json"];
    for (const name of [...stored, "trainers/trl.json", "releases/transformers.json"])
      assert.deepEqual(await graphs(name, (path) => opened.text(path)), await graphs(name, text));
    // What only people read in the catalogue is left out.
    const { models, ...rest } = JSON.parse(await text("catalogue.json"));
    const brief = models.map(
      ({ stated: _, license: __, note: ___, ...entry }: Readonly<Record<string, unknown>>) => entry,
    );
    assert.deepEqual(JSON.parse((await opened.text("catalogue.json")) ?? ""), { ...rest, models: brief });
    assert.equal(await opened.text("graphs/none.json"), undefined);
  });

  it("comes from the archive where there is one, else from files", async () => {
    const files = memoryRuntime({}, { "catalogue.json": "[]" });
    const packed = await archive.compressed(archive.archiveOf([["catalogue.json", Buffer.from('["é","\\u0001"]')]]));
    const shipped = withArchive({ ...files, readModelArchive: async () => packed });
    assert.deepEqual(JSON.parse((await shipped.readModelData("catalogue.json")) ?? ""), ["é", "\u0001"]);
    assert.equal(await shipped.readModelData("graphs/llama.json"), undefined);
    const absent = withArchive({ ...files, readModelArchive: async () => undefined });
    assert.equal(await absent.readModelData("catalogue.json"), "[]");
  });

  it("holds every file of models/ that a program reads", () => {
    const names = archive.archivedFiles(MODELS).map(([name]) => name);
    assert.equal(new Set(names).size, names.length);
    for (const name of ["catalogue.json", "graphs/llama.json", "parts/llama.json", "trainers/trl.json"])
      assert.ok(names.includes(name), name);
    assert.ok(names.every((name) => name.endsWith(".json")));
  });
});
