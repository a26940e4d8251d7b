/** A model by what its config says. */

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
  /** The graphs of a framework's own code for such models (`models/graphs/<code>.json`); absent: transformers' code runs. */
  readonly code?: string;
  readonly config: ModelConfig;
  readonly source: ModelSource;
}
