/** What the data and the config leave open: how experts share their rows, which dtypes and adapters meet. */
import type { Task } from "../../terms/names";
import { say } from "../../words/message";
import { ELEMENT_BYTES } from "../engine/dtype";
import { textConfig } from "../graph/relatives";
import { simulateFullest } from "../stages";
import { standIn } from "../stand-in";
import { hasReference } from "../training/trainers";
import type { EffectRule, Facts } from "./types";

/** Bytes on top where every token goes to the same experts: one expert's rows are all there are, and so are its temporaries. */
function unbalanced({ run, graphs, ledger }: Facts): number {
  const one = simulateFullest(standIn({ ...run, routing: "one" }, graphs), graphs);
  return one.ok ? Math.max(0, one.simulation.ledger.peak - ledger.peak) : 0;
}

/** What the graph takes the data to be where that decides which code runs; the first of it says what experts are given. */
const TAKEN_FOR: EffectRule = {
  id: "data",
  source: "the family's reader in capture/, which says what the code that was captured asks of the data",
  effects: (facts) => {
    const moreBytes = facts.simulation.noticed.has("shared-rows") ? unbalanced(facts) : 0;
    const own = (facts.graphs.assumes ?? []).filter(({ tasks }) => tasks.includes(facts.run.task));
    return own.map(({ what, settleWith }, k) => ({
      what: { id: what, args: {} },
      settleWith,
      moreBytes: k === 0 ? moreBytes : 0,
      lessBytes: 0,
    }));
  },
};

const ROWS: ReadonlySet<string> = new Set(["activations", "communication"]);

/** Rows of a rank's experts come from all ranks: where routing favours its experts, they are up to those of all of them. */
const EXCHANGED_ROWS: EffectRule = {
  id: "exchanged-rows",
  source:
    "megatron/core/transformer/moe/token_dispatcher.py, MoEAlltoAllTokenDispatcher.preprocess; torchtitan/distributed/expert_parallel.py, ExpertParallel._token_dispatch: `output_splits` are what other ranks counted",
  effects: ({ run, simulation, ledger }) => {
    if (!simulation.noticed.has("exchanged-rows")) return [];
    const { expertParallel: degree } = run.parallel;
    const rows = ledger
      .aliveByLabel(ledger.peakEvent)
      .filter(({ label }) => ROWS.has(label.kind) && /(?:^|\.)experts$/.test(label.scope))
      .reduce((sum, { bytes }) => sum + bytes, 0);
    const what = say("engine.exchanged-rows", { degree });
    return [{ what, settleWith: "expert_parallel", moreBytes: (degree - 1) * rows, lessBytes: 0 }];
  },
};

/**
 * Experts of a sharded model in pipeline stages, or with sequences split among ranks: each is followed as it runs alone, and no
 * reference run has them together, so that nothing says which way the number is off.
 */
const COMBINED_EXPERTS: EffectRule = {
  id: "combined-experts",
  source:
    "torchtitan/models/llama4/infra/parallelize.py, parallelize_llama: one mesh of all of them, on each stage that distributed/pipeline_parallel.py makes; capture/truth/torchtitan_experts.py runs it without either",
  effects: ({ run: { parallel }, simulation: { noticed } }) => {
    const { fsdp, pipelineParallel, contextParallel } = parallel;
    if (fsdp === null || !noticed.has("exchanged-rows") || Math.max(pipelineParallel, contextParallel) <= 1) return [];
    const settleWith = pipelineParallel > 1 ? "pipeline_parallel" : "context_parallel";
    return [{ what: say("engine.combined-experts"), settleWith, moreBytes: 0, lessBytes: 0 }];
  },
};

/**
 * Reentrant checkpoints run a backward of their own for each layer, which goes through the copies' broadcast: zeros for all
 * parameters that it has no gradients of, and a sum of all.
 */
const REENTRANT_REPLICAS: EffectRule = {
  id: "reentrant-replicas",
  source: "torch/utils/checkpoint.py, CheckpointFunction.backward; torch/nn/parallel/_functions.py, Broadcast.backward",
  effects: ({ run: { parallel, checkpointing, loadDtype }, simulation: { parameters } }) => {
    if (parallel.inOneProcess === undefined || checkpointing?.useReentrant !== true) return [];
    const moreBytes = 2 * parameters * ELEMENT_BYTES[loadDtype];
    return [{ what: say("engine.reentrant-replicas"), settleWith: "use_reentrant", moreBytes, lessBytes: 0 }];
  },
};

/** Adapters on experts whose matrices are stored together take plain LoRA only. */
const ADAPTED_EXPERTS: EffectRule = {
  id: "adapted-experts",
  source: "peft/tuners/lora/layer.py, ParamWrapper.__init__",
  effects: ({ simulation }) =>
    simulation.adapterRefused
      ? [{ what: say("engine.adapted-experts"), settleWith: "lora_dropout", moreBytes: 0, lessBytes: 0 }]
      : [],
};

/** Weights that a model makes in float32 whatever it is loaded in meet others of it in one product (DeBERTa's biases of queries). */
const MIXED_DTYPES: EffectRule = {
  id: "mixed-dtypes",
  source: "aten/src/ATen/native/LinearAlgebra.cpp, addmm and bmm check that dtypes are the same",
  effects: ({ simulation }) =>
    simulation.noticed.has("mixed-dtypes")
      ? [{ what: say("engine.mixed-dtypes"), settleWith: "dtype", moreBytes: 0, lessBytes: 0 }]
      : [],
};

/** Bytes per element that a trained weight gains in float32: its own, its gradient's, and those of two states. */
const RAISED_TRAINED = 2 + 2 + 4;
const RAISED = 2;

/**
 * GRPO's `cast_lm_head_to_fp32` raises the head's weight where it was loaded in half precision (a tied embedding with it), that
 * of a reference model, too, and multiplies float32 hidden states. The number is that of the head as loaded.
 */
const RAISED_HEAD: EffectRule = {
  id: "raised-head",
  source: "trl/trainer/grpo_trainer.py, _cast_lm_head_to_fp32; trl/trainer/utils.py, add_fused_lm_head",
  effects: ({ run, simulation: { parameters, trainableParameters } }) => {
    const { trainer, loadDtype, microBatchSize, sequenceLength } = run;
    if (trainer?.headInFloat32 !== true) return [];
    const { vocab_size: rows, hidden_size: width } = textConfig(run.model.config);
    if (typeof rows !== "number" || typeof width !== "number") return [];
    const half = ELEMENT_BYTES[loadDtype] === 2;
    const copies = hasReference(trainer) ? RAISED : 0;
    const perElement = half ? (trainableParameters === parameters ? RAISED_TRAINED : RAISED) + copies : 0;
    // The states and their gradient.
    const hidden = 2 * ELEMENT_BYTES.float32 * microBatchSize * sequenceLength * width;
    const moreBytes = perElement * rows * width + hidden;
    return [{ what: say("engine.raised-head"), settleWith: "cast_lm_head_to_fp32", moreBytes, lessBytes: 0 }];
  },
};

/** What a loss of a script's own holds of logits beside the model's: another model's, their log-softmax in float32, what is made of both. */
const LOGITS_BESIDE = 3;

const LANGUAGE: ReadonlySet<Task> = new Set(["causal-lm", "masked-lm", "seq2seq-lm"]);

/** The loss that a script writes itself does something that is not followed. */
const OWN_LOSS: EffectRule = {
  id: "own-loss",
  source: "transformers/trainer.py, compute_loss, which subclasses override",
  effects: ({ run: { model, task, microBatchSize, sequenceLength }, simulation }) => {
    if (!simulation.noticed.has("loss")) return [];
    const { vocab_size: rows } = textConfig(model.config);
    const logits = LANGUAGE.has(task) && typeof rows === "number" ? microBatchSize * sequenceLength * rows : 0;
    const moreBytes = LOGITS_BESIDE * logits * ELEMENT_BYTES.float32;
    return [{ what: say("engine.own-loss"), settleWith: "compute_loss", moreBytes, lessBytes: 0 }];
  },
};

/** A model beside the trained one whose weights are counted: what its forward leaves for the loss is the script's own. */
const BESIDE: EffectRule = {
  id: "beside",
  source: "transformers/trainer.py, compute_loss is the script's own; its teacher runs under torch.no_grad",
  effects: ({ run: { beside, model, task, microBatchSize, sequenceLength } }) => {
    // One that runs does so in the script's own loss.
    if (beside === undefined || beside.runs !== undefined) return [];
    const { vocab_size: rows } = textConfig(model.config);
    const logits = task === "causal-lm" && typeof rows === "number" ? microBatchSize * sequenceLength * rows : 0;
    const moreBytes = LOGITS_BESIDE * logits * ELEMENT_BYTES.float32;
    return [{ what: say("engine.beside"), settleWith: "model", moreBytes, lessBytes: 0 }];
  },
};

/** The piece of a fused loss is one block where its compiled code writes the gradient over the logits; eagerly it is float32, too. */
const PIECES: EffectRule = {
  id: "fused-pieces",
  source:
    "unsloth_zoo/fused_losses/cross_entropy_loss.py: compiled where it can be; half-precision cards without bfloat16 compute in float32",
  effects: ({ run: { fusedPieceBytes, model, microBatchSize, sequenceLength } }) => {
    const { vocab_size: rows } = textConfig(model.config);
    if (fusedPieceBytes === undefined || typeof rows !== "number") return [];
    const logits = microBatchSize * sequenceLength * rows * ELEMENT_BYTES.float32;
    const moreBytes = Math.min(logits, fusedPieceBytes);
    return [{ what: say("engine.fused-pieces"), settleWith: "loss_type", moreBytes, lessBytes: 0 }];
  },
};

/** The number has the longest batch twice in a row, the second beside what the loop still names of the first. */
const BATCH_BEFORE: EffectRule = {
  id: "batch-before",
  source:
    "litgpt/finetune/lora.py, `logits` of `fit`; a plain loop's names: batches are as long as their longest sample",
  effects: ({ run, graphs, ledger }) => {
    const { loop, ...rest } = run;
    if (loop?.variesLengths !== true) return [];
    const alone = simulateFullest(standIn({ ...rest, loop: { ...loop, holds: "nothing" } }, graphs), graphs);
    const lessBytes = alone.ok ? Math.max(0, ledger.peak - alone.simulation.ledger.peak) : 0;
    return [{ what: say("engine.batch-before"), settleWith: "sequence_length", moreBytes: 0, lessBytes }];
  },
};

export const OF_DATA: readonly EffectRule[] = [
  BATCH_BEFORE,
  BESIDE,
  OWN_LOSS,
  PIECES,
  ADAPTED_EXPERTS,
  EXCHANGED_ROWS,
  COMBINED_EXPERTS,
  REENTRANT_REPLICAS,
  MIXED_DTYPES,
  TAKEN_FOR,
];
export const OF_HEAD: readonly EffectRule[] = [RAISED_HEAD];
