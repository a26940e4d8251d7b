/**
 * The example scripts of transformers, which most people's own begin as: the class each trains, and what it takes where its
 * arguments leave lengths open. Source: transformers/examples/pytorch (`DataTrainingArguments`, `parse_args` of the scripts
 * without a trainer).
 */

import type { ShellCommand } from "../../syntax/tree";
import type { SettingName } from "../../terms/settings";
import { table } from "../../terms/table";
import type { LocatedSetting } from "../types";
import { placed, scalar } from "./called";

interface Example {
  /** The class the model is loaded as. */
  readonly loads: string;
  /** Most tokens of a sample that its own default allows; the tokenizer's limit when smaller. */
  readonly limit?: number;
  readonly target?: number;
  /** Samples are filled up to that length unless told otherwise. */
  readonly fills?: true;
  /** Seconds of a recording. */
  readonly seconds?: number;
}

const TEXTS = "AutoModelForSequenceClassification";
const SUMS: Example = { loads: "AutoModelForSeq2SeqLM", limit: 1024, target: 128 };

/** By the name of the script without `_no_trainer` and `.py`. */
const EXAMPLES: Readonly<Record<string, Example>> = table({
  run_glue: { loads: TEXTS, limit: 128, fills: true },
  run_classification: { loads: TEXTS, limit: 128, fills: true },
  run_xnli: { loads: TEXTS, limit: 128, fills: true },
  run_ner: { loads: "AutoModelForTokenClassification" },
  run_qa: { loads: "AutoModelForQuestionAnswering", limit: 384, fills: true },
  run_qa_beam_search: { loads: "XLNetForQuestionAnswering", limit: 384, fills: true },
  run_seq2seq_qa: { loads: "AutoModelForSeq2SeqLM", limit: 384, target: 30, fills: true },
  run_swag: { loads: "AutoModelForMultipleChoice", limit: 1024 },
  run_clm: { loads: "AutoModelForCausalLM", limit: 1024, fills: true },
  run_fim: { loads: "AutoModelForCausalLM", limit: 1024, fills: true },
  run_mlm: { loads: "AutoModelForMaskedLM", limit: 1024 },
  run_plm: { loads: "XLNetLMHeadModel", limit: 512 },
  run_summarization: SUMS,
  run_translation: SUMS,
  run_image_classification: { loads: "AutoModelForImageClassification" },
  run_semantic_segmentation: { loads: "AutoModelForSemanticSegmentation" },
  run_mim: { loads: "AutoModelForMaskedImageModeling" },
  run_audio_classification: { loads: "AutoModelForAudioClassification", seconds: 20 },
  run_speech_recognition_ctc: { loads: "AutoModelForCTC", seconds: 20 },
  run_speech_recognition_seq2seq: { loads: "AutoModelForSpeechSeq2Seq", seconds: 20 },
});

const SCRIPT = /(?:^|[\\/])(run_\w+?)(_no_trainer)?\.py$/;

/** What the example that a command runs trains, and its own defaults; those without a trainer have Accelerate's loop. */
export function exampleSettings(command: ShellCommand): readonly LocatedSetting[] {
  for (const { text, node } of command.words) {
    const [, name = "", plain] = SCRIPT.exec(text) ?? [];
    const example = Object.hasOwn(EXAMPLES, name) ? EXAMPLES[name] : undefined;
    if (example === undefined) continue;
    const span = { start: node.start, end: node.end };
    const said = (setting: SettingName, value: string | number | boolean | undefined): LocatedSetting[] =>
      value === undefined ? [] : [placed(setting, name, span, { ...scalar(value, span), raw: text }, value)];
    const loop = plain !== undefined;
    return [
      ...said("model_class", example.loads),
      ...said("sequence_limit", example.limit),
      ...said("target_length", example.target),
      // Without a trainer, batches are filled up only where it is asked for; blocks of one length always are.
      ...said("pad_to_sequence_length", example.fills && (!loop || /_(?:clm|fim)$/.test(name)) ? true : undefined),
      ...said("audio_seconds", example.seconds),
      ...(loop ? [...said("own_loop", true), ...said("loop_holds", "outputs"), ...said("loop_keeps_cache", true)] : []),
    ];
  }
  return [];
}

/** Whether a command runs one of the examples that have a trainer. */
export function isExample(words: readonly string[]): boolean {
  return words.some((word) => {
    const [, name = "", plain] = SCRIPT.exec(word) ?? [];
    return plain === undefined && Object.hasOwn(EXAMPLES, name);
  });
}
