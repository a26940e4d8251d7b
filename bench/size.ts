/** Size of the model data in the package. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";

const MODELS = join(__dirname, "..", "models");

/** Bytes of the catalogue and of all graphs, those of trainers and of earlier releases, too, each compressed as the package does (scripts/package.mjs). */
export function modelDataBytes(): number {
  const graphs = ["graphs", "parts", "releases", "trainers"].flatMap((folder) =>
    readdirSync(join(MODELS, folder)).map((name) => join(folder, name)),
  );
  return ["catalogue.json", ...graphs]
    .map((name) => deflateRawSync(readFileSync(join(MODELS, name)), { level: 9 }).length)
    .reduce((sum, bytes) => sum + bytes, 0);
}
