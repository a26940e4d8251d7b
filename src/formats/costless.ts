/**
 * Names that cost no GPU memory in a training step, whichever library has them: what is logged, where things are kept, how long a run is,
 * how steep its rates are. A format's own rows stand before these; a name that is in neither is said to be read by nobody.
 */

import costless from "./costless.json";
import { OTHER_TRAINING_ARGUMENTS } from "./hf-training-arguments/keys";
import { LAUNCHER_OPTIONS } from "./launchers/options";

const words = (lines: readonly string[]): readonly string[] => lines.flatMap((line) => line.split(" "));

/** Blocks of which every key is about something beside the step. */
const BLOCKS: ReadonlySet<string> = new Set(words(costless.blocks));

const NAMES: ReadonlySet<string> = new Set([
  ...OTHER_TRAINING_ARGUMENTS,
  // The launcher's precision is a setting wherever it is read.
  ...[...LAUNCHER_OPTIONS].filter((name) => name !== "mixed_precision"),
  ...words(Object.values(costless.names).flat()),
]);

/** Endings of names that say where something lies, when it happens, or how it is weighed. */
const ENDINGS =
  /(?:_dir|_folder|_file|_files|_paths?|_url|_uri|_seed|_freq|_interval|_lr|_coef|_coeff|_eps|_epsilon|_port|_timeout|_patience|_prompt|_column|_field|_num_proc|_project|_entity|_run_name|_logdir|_token_id|_workers)$/;

const BEGINNINGS =
  /^(?:wandb|trackio|otel|swanlab|mlflow|comet|log|logging|tensorboard|hub|tpu|ray_|slurm|lr|adam|save|val|logits_to_)_/;

/** A name as all libraries would write it: `--lr-decay-iters` and `LR_DECAY_ITERS` are `lr_decay_iters`. */
function plain(name: string): string {
  return name
    .replace(/^-{1,2}/, "")
    .replaceAll("-", "_")
    .toLowerCase();
}

/** Whether a key costs no GPU memory by its name alone; switches of one letter are a launcher's. */
export function costsNothing(path: string): boolean {
  const parts = path.split(".").map(plain);
  const name = parts.at(-1) ?? "";
  return (
    name.length === 1 ||
    NAMES.has(name) ||
    parts.some((part) => BLOCKS.has(part)) ||
    ENDINGS.test(name) ||
    BEGINNINGS.test(name)
  );
}
