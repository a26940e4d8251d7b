/** The module that peft puts around the model. */
import type { DType } from "../../engine/dtype";
import type { Wrapper } from "../../engine/interpreter/options";
import { buildsNoMask } from "../../graph/flash";
import type { LoadedModel } from "../loaded-model";
import type { TrainingRun } from "../run";
import { regularised } from "./adalora";
import { PrefixCache, standsApart } from "./prefix";
import type { PromptSizes } from "./prompt-sizes";
import { promptWrapper, virtualTokens } from "./prompts";

/**
 * Tasks for which peft has a kind of model. That of any other is its plain one, which calls the model past AdaLoRA's forward, where
 * the term is added to the loss (peft/mapping_func.py; peft/peft_model.py, `PeftModel.forward`; peft/tuners/adalora/model.py).
 */
const WITH_PEFT_KIND: ReadonlySet<TrainingRun["task"]> = new Set([
  "causal-lm",
  "image-text-to-text",
  "seq2seq-lm",
  "seq-cls",
  "token-cls",
  "qa",
]);

/** What peft's module around the model does, or null when it only hands on. */
export function wrapperOf(run: TrainingRun, model: LoadedModel, dtype: DType, sizes: PromptSizes): Wrapper | null {
  const { adapter, checkpointing, attention } = run;
  const { prompt, embedding, regularised: factors } = model;
  if (adapter !== null && prompt !== null) {
    const prefix = standsApart(run) ? new PrefixCache(sizes, virtualTokens(adapter), !buildsNoMask(attention)) : null;
    const writes = run.task === "seq2seq-lm";
    return promptWrapper(
      adapter,
      { encoder: prompt, writes },
      embedding?.weight ?? null,
      dtype,
      checkpointing !== null,
      prefix,
    );
  }
  return factors.length === 0 || !WITH_PEFT_KIND.has(run.task)
    ? null
    : { leave: (torch, loss) => regularised(torch, factors, loss) };
}
