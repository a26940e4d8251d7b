/** Names that runs, pins and the panel share: each list stands here only. */

/**
 * What the model is trained to do, by the model class that training code builds (`AutoModelFor…`); selects the head, the
 * inputs and the loss.
 */
export const TASKS = [
  "causal-lm",
  "masked-lm",
  "seq-cls",
  "token-cls",
  "qa",
  "multiple-choice",
  "seq2seq-lm",
  "image-cls",
  "image-text-to-text",
  "speech-seq2seq",
  "ctc",
  "audio-cls",
  "image-segmentation",
  "masked-image",
  "contrastive",
  "diffusion",
] as const;

export type Task = (typeof TASKS)[number];

/** Attention implementations, spelled as `attn_implementation` in transformers. */
export const ATTENTIONS = ["sdpa", "eager", "flash_attention_2", "flash_attention_3", "flex_attention"] as const;

export type Attention = (typeof ATTENTIONS)[number];

/** Component kinds of the breakdown, in the order surfaces show them. */
export const COMPONENT_KINDS = [
  "weights",
  "adapters",
  "gradients",
  "optimizer",
  "activations",
  "logits-and-loss",
  "temporaries",
  "communication",
  "buffers",
  "inputs",
] as const;
export type ComponentKind = (typeof COMPONENT_KINDS)[number];

/** Where receipts lie below a folder. */
export const RECEIPTS_FOLDER = ".vramlens/receipts";
