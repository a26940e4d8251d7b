/** What dtypes are called: by torch, by its older types and methods, by configs in short. */
import { table } from "./table";

/** Floating dtypes that weights and sums have. */
export type FloatName = "bfloat16" | "float16" | "float32" | "float64";

/** Other names of each, the short one first. */
const FLOATS: Readonly<Record<FloatName, readonly string[]>> = {
  bfloat16: ["bf16"],
  float16: ["fp16", "half"],
  float32: ["fp32", "float"],
  float64: ["fp64", "double"],
};

const BY_NAME: Readonly<Record<string, FloatName>> = table(
  Object.fromEntries(
    Object.entries(FLOATS).flatMap(([dtype, names]) => [dtype, ...names].map((name) => [name, dtype as FloatName])),
  ),
);

/** The floating dtype of a name, also behind `torch.`; undefined for every other text. */
export function floatNamed(name: string | undefined): FloatName | undefined {
  return name === undefined ? undefined : BY_NAME[name.replace(/^torch\./, "")];
}

/** The short name of a floating dtype (`bf16`). */
export function shortOf(dtype: FloatName): string {
  return FLOATS[dtype][0] ?? dtype;
}

/** Names of a dtype in configs, each for what it stands for; the short one is first, which is how it is written. */
export function spelled<Meaning>(dtype: FloatName, meaning: Meaning): Record<string, Meaning> {
  const [short = dtype, ...others] = FLOATS[dtype];
  return Object.fromEntries([short, dtype, ...others].map((name) => [name, meaning]));
}
