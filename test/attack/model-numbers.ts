/** Values in every number of a model's config.json, of every captured family, nested configs included. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LLAMA } from "../analysis/whole-runs";
import type { Seed } from "./seeds";

const GRAPHS = join(__dirname, "..", "..", "models", "graphs");
/** Layers of a model that is tried: more say the same. */
const LAYERS = 4;

/** What no library takes in most places, and what is no number. */
const VALUES: readonly unknown[] = [0, -1, 0.5, 7, 100000, 2 ** 31, 2 ** 53, 1e308, "twelve", null, [], {}, [0, 0]];

type Plain = Readonly<Record<string, unknown>>;

function isPlain(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a number stands there, or could. */
function isNumeric(value: unknown): boolean {
  return value === null || [value].flat().every((one) => typeof one === "number");
}

/** Every copy of a config with one of its numbers replaced. */
function* variants(config: Plain): Generator<readonly [key: string, value: unknown, config: Plain]> {
  for (const [key, own] of Object.entries(config)) {
    if (isPlain(own))
      for (const [inner, value, changed] of variants(own))
        yield [`${key}.${inner}`, value, { ...config, [key]: changed }];
    else if (isNumeric(own)) for (const value of VALUES) yield [key, value, { ...config, [key]: value }];
  }
}

/** The config that a family's class makes of nothing, with few layers; nothing of those that frameworks write. */
function configsOfFamilies(): readonly (readonly [family: string, config: Plain])[] {
  return readdirSync(GRAPHS)
    .map((name) => name.replace(/\.json$/, ""))
    .filter((family) => !family.includes("."))
    .map((family) => {
      const defaults: Plain = JSON.parse(readFileSync(join(GRAPHS, `${family}.json`), "utf8")).defaults;
      const layers = typeof defaults["num_hidden_layers"] === "number" ? { num_hidden_layers: LAYERS } : {};
      return [family, { ...defaults, ...layers, model_type: family }] as const;
    });
}

/** Runs of a model whose config has one number replaced; `takes` says of each whether it is wanted. */
export function* modelNumbers(
  takes: () => boolean,
): Generator<Seed & { readonly what: string; readonly value: string }> {
  const all = [...configsOfFamilies(), ["llama", { ...LLAMA }] as const];
  for (const [family, config] of all)
    for (const [key, value, changed] of variants(config)) {
      if (!takes()) continue;
      const files = {
        "train.yaml": "output_dir: o\nper_device_train_batch_size: 2\nbf16: true\n",
        ".vramlens.yaml": "runs:\n  - match: train.yaml\n    model: ./model\n    sequence_length: 64\n",
        "model/config.json": JSON.stringify(changed),
      };
      yield { main: "train.yaml", files, what: `${family} ${key} = ${JSON.stringify(value)}`, value: String(value) };
    }
}
