/** Calls of the model outside training steps. */

/** The Trainer's evaluation loop, run between training steps. */
export interface EvaluationSpec {
  /** Sequences (or images) per device (`per_device_eval_batch_size`). */
  readonly batchSize: number;
  /** Tokens per sequence, as in `TrainingRun.sequenceLength`. */
  readonly sequenceLength: number;
  readonly targetLength: number;
  /**
   * What stays of each batch beside the loss: nothing (`prediction_loss_only`, or no `compute_metrics`), the logits and
   * labels, or the most likely token of each position (`preprocess_logits_for_metrics`) and the labels.
   */
  readonly keeps: "loss" | "logits" | "argmax";
  /** Batches after which what was kept moves to the host; null: at the end (`eval_accumulation_steps`). */
  readonly accumulationSteps: number | null;
  /** Whether the allocator's cache is emptied each time (transformers/trainer.py, evaluation_loop, from 4.41 on). */
  readonly emptiesCache?: boolean;
  /** Batches of the evaluation set. */
  readonly batches: number;
  /** Processes whose losses, logits and labels each of them puts together (`gather_for_metrics`); absent: all of the run's. */
  readonly processes?: number;
  /** `eval_do_concat_batches`: kept tensors are concatenated as they come, instead of listed. */
  readonly concatenates: boolean;
}

/** A checkpoint that is written between steps, with what the ranks hold put together for the first of them. */
export interface SavingSpec {
  /** What the optimizer keeps of the weights, too; DeepSpeed's ranks write their own parts of that. */
  readonly optimizer: boolean;
}

/** Blocks of a paged key-value cache (`ContinuousBatchingConfig`). */
export interface PagedSpec {
  readonly blockTokens: number;
  /** Share of what is not reserved that cache and batches take. */
  readonly share: number;
  /** null: as many as fit. */
  readonly blocks: number | null;
  /** Tokens of one forward; null: the library's own. */
  readonly batchTokens: number | null;
}

/** One call of `generate`. */
export interface GenerationSpec {
  /** Prompts per device that are generated for together. */
  readonly batchSize: number;
  /** Tokens of each prompt (of the input, for encoder-decoders). */
  readonly promptLength: number;
  readonly newTokens: number;
  readonly beams: number;
  /** Sampling keeps probabilities beside the scores. */
  readonly samples: boolean;
  /** `cache_implementation`. */
  readonly cache: "dynamic" | "static" | "offloaded" | "quantized" | "paged";
  /** How the blocks of a paged cache are counted; the library's defaults when absent. */
  readonly paged?: PagedSpec;
  /** The scores of every token are part of what it gives (`output_scores`). */
  readonly keepsScores?: true;
}
