/** A model by what its config says. */

/** Floating-point and integer dtypes that tensors of a training step have. */
export type DType =
  | "float32"
  | "float16"
  | "bfloat16"
  | "float64"
  | "int64"
  | "int32"
  | "int16"
  | "uint8"
  | "int8"
  | "bool"
  | "float8"
  | "complex64";

/** Content of a model's `config.json`: published numbers, read with the defaults of its `model_type`. */
export type ModelConfig = Readonly<Record<string, unknown>>;

/** Where the model's dimensions came from. */
export type ModelSource = "config.json" | "catalogue" | "trace" | "assumed";

/** The model that is trained. */
export interface ModelSpec {
  /** Name to show: the hub id, the directory or the pinned name. */
  readonly name: string;
  /** `model_type` of the config, which names the captured graph family. */
  readonly family: string;
  readonly config: ModelConfig;
  readonly source: ModelSource;
}
