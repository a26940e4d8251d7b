/**
 * TRL's trainers with a loss of their own: which models they keep, which loss runs, how much of a sequence is scored.
 * Sources: trl/trainer/{dpo,kto,reward,grpo,rloo}_{config,trainer}.py, trl/generation/vllm_generation.py and trl/experimental/{orpo,cpo}, version
 * 1.16.
 */

import type { DType } from "../../core/engine/dtype";
import type { TrainerKind, TrainerSpec, TrainingRun } from "../../core/training/run";
import { say } from "../../words/message";
import type { Flavour, LossTerm } from "../frameworks/framework";
import { holds } from "../frameworks/versions";
import type { ResolveContext } from "./context";
import { type Batch, companionOf, comparingSpec, GENERATES, ppoSpec, rolloutSpec, verlSpec } from "./generating";

/** Since then SFT's loss goes through the fused head, too (trl/trainer/utils.py, add_fused_lm_head). */
const FUSED_HEAD = "trl>=1.15";

/** Trainers that generate two completions of each prompt in every micro-batch, and learn which is better. */
const COMPARES: ReadonlySet<TrainerKind> = new Set(["online-dpo", "xpo", "nash-md"]);

/** Trainers whose memory does not depend on how much of a sequence is scored. */
const SCORES_ALL: ReadonlySet<TrainerKind> = new Set(["orpo", "cpo", "reward", "rm"]);

/** Trainers that leave dropout as the model has it. */
const KEEPS_DROPOUT: ReadonlySet<TrainerKind> = new Set(["rm", "sft"]);

/** What a trainer makes of the model: a classifier with so many labels, or what it is (0). */
export function classified(labels: number, model: TrainingRun["model"] | null): TrainingRun["model"] | null {
  return labels > 0 && model !== null ? { ...model, config: { ...model.config, num_labels: labels } } : model;
}

/** The trainer's own part of the run; null for the plain trainers. Says what is assumed, and why there may be no run. */
export function trainerSpecOf(
  c: ResolveContext,
  trainer: string,
  sequenceLength: number,
  adapted: boolean,
  batch: Batch,
): TrainerSpec | null {
  if (c.namedTrainer && trainer === "sft") return sftSpec(c, sequenceLength);
  const flavour = c.framework.flavours?.[trainer];
  if (c.losses === null || flavour === undefined) return null;
  const { standsFor, forLiger, release, kernels, fromSource } = c.losses;
  if (forLiger) c.suppose(say("assume.liger-loss", { trainer: trainer.toUpperCase() }), "libraries");
  if (standsFor !== undefined)
    c.suppose(say("assume.loss-stands", { trainer: trainer.toUpperCase(), standsFor, release }), "libraries");
  if (fromSource) c.suppose(say("assume.from-source", { framework: c.framework.name, release }), "libraries");
  if (kernels !== undefined) {
    c.suppose(say("assume.verl", { release }), "libraries");
    return verlSpec(c, adapted, batch);
  }
  const spec =
    flavour.kind === "gkd"
      ? distillationSpec(c, sequenceLength, batch)
      : flavour.kind === "ppo"
        ? ppoSpec(c, adapted, batch)
        : flavour.kind === "embedding"
          ? embeddingSpec(c)
          : COMPARES.has(flavour.kind)
            ? comparingSpec(c, flavour.kind, sequenceLength, adapted, batch)
            : GENERATES.has(flavour.kind)
              ? rolloutSpec(c, flavour.kind, adapted, batch)
              : preferenceSpec(c, flavour, sequenceLength, adapted, batch.loadDtype);
  return standsFor === undefined && !forLiger ? spec : { ...spec, standIn: true };
}

/** Divergences by the weight between them (trl/experimental/gkd/gkd_trainer.py, generalized_jsd_loss). */
const divergenceOf = (beta: number): string => (beta === 0 ? "forward" : beta === 1 ? "reverse" : "mixed");

/** GKD: the teacher takes the reference's place, and the student may generate the completions itself. */
function distillationSpec(c: ResolveContext, sequenceLength: number, batch: Batch): TrainerSpec {
  const companion = companionOf(c, "teacher_model", batch.loadDtype);
  if (companion === null) c.suppose(say("assume.teacher"), "teacher_model_name_or_path");
  const newTokens = Math.min(sequenceLength - 1, Number(c.value("max_new_tokens", 128)));
  // With checkpointing it generates without a cache: forwards without gradients, which need less than the training's.
  const cached = Number(c.value("lmbda", 0.5)) > 0 && c.value("gradient_checkpointing", true) !== true;
  const scoredTokens = scored(c, sequenceLength);
  // Until 1.3 the loss takes what follows the prompt (compute_loss); what it generates follows all of the prompt.
  const whole = holds("trl>=1.4", c.libraries);
  const promptLength = Math.max(1, sequenceLength - (whole ? newTokens : scoredTokens));
  return {
    kind: "gkd",
    variant: { divergence: divergenceOf(Number(c.value("beta", 0.5))), reference: "model" },
    disableDropout: c.value("disable_dropout", true) === true,
    scoredTokens,
    promptLength,
    completionLength: newTokens,
    referenceApart: true,
    ...(companion === null ? {} : { companion }),
    ...(cached
      ? {
          generation: {
            batchSize: batch.micro,
            promptLength: Math.max(1, sequenceLength - newTokens),
            newTokens,
            beams: 1,
            samples: true,
            cache: "dynamic" as const,
          },
        }
      : {}),
  };
}

/** Texts of a sample where neither loss nor data says it: a pair. */
const PAIR = 2;

/** What sentence-transformers embeds of a batch: each sample's texts, all samples at once or in pieces. */
function embeddingSpec(c: ResolveContext): TrainerSpec {
  const stated = c.settings.find("texts_per_sample");
  const texts = typeof stated?.value === "number" ? Math.max(1, Math.trunc(stated.value)) : PAIR;
  if (stated === undefined)
    c.suppose(say("assume.texts", { texts }), "texts_per_sample", { texts_per_sample: String(texts + 1) });
  else c.keep("texts_per_sample", stated);
  const piece = c.settings.find("loss_mini_batch_size");
  if (piece !== undefined) c.keep("loss_mini_batch_size", piece);
  const inPieces = typeof piece?.value === "number";
  return {
    kind: "embedding",
    variant: { columns: texts === 1 || inPieces ? "one" : "several", pooling: "mean" },
    disableDropout: false,
    scoredTokens: 0,
    promptLength: 0,
    completionLength: 0,
    ...(texts > 1 ? { candidates: texts - 1 } : {}),
    ...(inPieces ? { piece: Number(piece.value) } : {}),
  };
}

/** Trainers that learn from given completions. */
function preferenceSpec(
  c: ResolveContext,
  flavour: Flavour,
  sequenceLength: number,
  adapted: boolean,
  loadDtype: DType,
): TrainerSpec {
  const { kind } = flavour;
  const apart = c.settings.string("ref_model") !== undefined;
  const other = apart ? companionOf(c, "ref_model", loadDtype) : null;
  // The others score what the mask leaves; these compute it for every token.
  const scoredTokens = SCORES_ALL.has(kind) || c.losses?.fromSource ? 0 : scored(c, sequenceLength);
  return {
    kind,
    variant: variantOf(c, flavour, adapted && !apart),
    disableDropout: !KEEPS_DROPOUT.has(kind) && c.value("disable_dropout", true) === true,
    scoredTokens,
    // Where prompts and completions come apart, what is not scored is the prompt (trl/trainer/dpo_trainer.py before 0.29).
    promptLength: scoredTokens > 0 ? sequenceLength - scoredTokens : 0,
    completionLength: scoredTokens,
    ...(apart ? { referenceApart: true } : {}),
    ...(apart && other !== null && other.model.name !== c.settings.string("model") ? { companion: other } : {}),
  };
}

/** SFT: since the fused head its loss is the trainer's own, unless labels are smoothed. */
function sftSpec(c: ResolveContext, sequenceLength: number): TrainerSpec | null {
  if (!holds(FUSED_HEAD, c.libraries) || (c.settings.number("label_smoothing") ?? 0) > 0) return null;
  return {
    kind: "sft",
    variant: { loss: c.settings.string("loss_type") === "dft" ? "dft" : "nll" },
    disableDropout: false,
    scoredTokens: Math.max(1, sequenceLength - 1),
    promptLength: 0,
    completionLength: 0,
  };
}

/** Losses that need no reference model (llamafactory/hparams/finetuning_args.py, use_ref_model). */
const WITHOUT_REFERENCE: ReadonlySet<string> = new Set(["orpo", "simpo"]);

/** Losses that were recorded of releases before 0.29 (capture/trainers/trl_before_029.py); the first stands for the others, which differ in numbers. */
const RECORDED_EARLIER: Readonly<Partial<Record<TrainerKind, ReadonlySet<string>>>> = {
  dpo: new Set("sigmoid hinge ipo exo_pair nca_pair robust sppo_hard aot aot_pair apo_zero apo_down".split(" ")),
  kto: new Set(["kto", "apo_zero_unpaired"]),
};

function variantOf(
  c: ResolveContext,
  { kind, loss: own, unlikely }: Flavour,
  adapted: boolean,
): TrainerSpec["variant"] {
  if (kind === "orpo" || kind === "rm") return {};
  if (kind === "sft") return { loss: "nll" };
  if (kind === "reward") {
    const centered = c.settings.number("center_rewards_coefficient") !== undefined;
    return { centered, ...(c.losses?.apart === true ? { apart: true } : {}) };
  }
  if (c.framework.prefLoss === true) {
    const loss = kind === "kto" ? "kto" : String(c.value("pref_loss", "sigmoid"));
    return { loss, reference: WITHOUT_REFERENCE.has(loss) ? "none" : referenceOf(c, kind, adapted) };
  }
  const stated = own === undefined ? c.settings.find("loss_type") : undefined;
  const [loss] = own === undefined ? (c.settings.list("loss_type") ?? []) : [own];
  const standard = String(c.ofTrainer("loss_type") ?? (kind === "kto" ? "kto" : "sigmoid"));
  if (own !== undefined) c.put("loss_type", own, "auto", "loss_type", null);
  else if (stated === undefined) c.put("loss_type", standard, "default", "loss_type", null);
  else c.keep("loss_type", stated);
  const recorded = c.losses?.some === true ? RECORDED_EARLIER[kind] : undefined;
  if (recorded !== undefined && !recorded.has(loss ?? standard)) {
    const [counted = standard] = recorded;
    c.suppose(say("assume.loss-variant", { loss: loss ?? standard, counted }), "loss_type");
    return { loss: counted, reference: referenceOf(c, kind, adapted) };
  }
  // AlphaPO is SimPO without the likelihood (trl/experimental/cpo/cpo_config.py).
  if (kind === "cpo" && loss === "alphapo") return { loss: "simpo", likelihood: false };
  if (kind === "cpo")
    return { loss: loss ?? standard, likelihood: unlikely !== true && c.settings.number("cpo_alpha") !== 0 };
  const reference = referenceOf(c, kind, adapted);
  const term = kind === "dpo" ? termOf(c) : undefined;
  // Terms were recorded beside one loss: the others differ from it in numbers for each pair.
  return term === undefined ? { loss: loss ?? standard, reference } : { loss: "sigmoid", reference, [term]: true };
}

/**
 * A further term of DPO's loss that reads whole logits: the likelihood of what was chosen (`rpo_alpha` until 0.29, `sft` among the
 * losses from 0.20 on), weights of the pairs (`use_weighting`). With TRL's fused head neither holds any.
 */
function termOf(c: ResolveContext): LossTerm | undefined {
  const sft = (c.settings.list("loss_type") ?? []).includes("sft");
  const asked: Readonly<Record<LossTerm, boolean>> = {
    likelihood: c.settings.number("rpo_alpha") !== undefined || sft,
    weighting: c.settings.on("use_weighting"),
  };
  return c.losses?.terms?.find((term) => asked[term]);
}

/** The frozen model beside the policy: none once its log-probabilities are there, the base model under an adapter. */
function referenceOf(c: ResolveContext, kind: TrainerKind, adapted: boolean): "model" | "adapter" | "none" {
  // Before 0.10 DPO computed them anew in every step, with the policy for want of the reference (get_batch_loss_metrics).
  if (c.value("precompute_ref_log_probs", false) === true)
    return kind === "dpo" && holds("trl<0.10", c.libraries) ? "adapter" : "none";
  return adapted ? "adapter" : "model";
}

/** Only completions are scored; without a prompt's length, all but the first token may be one. */
function scored(c: ResolveContext, sequenceLength: number): number {
  const prompt = c.keepNumber("max_prompt_length");
  if (prompt !== undefined) return Math.max(1, sequenceLength - Math.max(1, prompt));
  c.suppose(say("assume.scored"), "max_prompt_length", { max_prompt_length: String(Math.floor(sequenceLength / 2)) });
  return Math.max(1, sequenceLength - 1);
}
