/** Calls that a training script is read by: those of its trainer and of what that is given, or of a loop of its own. */

import type { Entry, MapNode, PythonCall, PythonModule } from "../../syntax/tree";
import { pythonView } from "../carriers";
import { PEFT_CALLS } from "../peft";
import type { View } from "../schema";
import type { ConfigDocument } from "../types";
import { argumentsSet, parsedArguments } from "./arguments";
import { given, plain } from "./called";
import { withDumped } from "./dumped";
import { backwardCall, LOADER, trainingLoader } from "./loop";
import {
  ACCELERATOR,
  callsBehind,
  isBefore,
  isLoad,
  LOADS,
  MODULE,
  NAMED,
  type Training,
  trainingOf,
} from "./training";
import { unslothAdapts } from "./unsloth";

/** Whether a trainer of transformers or TRL runs the loop, whatever else the module calls. */
export function hasTrainer({ calls }: PythonModule): boolean {
  return calls.some(({ callee }) => TRAINING_CALL.test(callee) || TRL_CALL.test(callee) || TRAINER_CALL.test(callee));
}

/** The Trainer's arguments, and the classes that libraries and scripts make of them (`Seq2Seq…`, `SentenceTransformer…`, `ORT…`). */
export const TRAINING_CALL = /(?:^|\.)\w{0,40}TrainingArguments$/;
/** Trainers of TRL 0.12 to 1.16, by what their classes begin with. */
const TRL_TRAINERS = [
  ..."SFT DPO ORPO KTO CPO Reward PPO PPOv2 RLOO GRPO GKD BCO XPO NashMD OnlineDPO AlignProp DDPO IterativeSFT PRM".split(
    " ",
  ),
  ..."TPO GFPO GMPO A2PO GRPOWithReplayBuffer AsyncGRPO AsyncDistillation ServerDistillation Distillation".split(" "),
  ..."GOLD MiniLLM IWOPD SDFT SDPO SSD".split(" "),
].join("|");
/** Unsloth's classes extend those of TRL's SFT (unsloth/trainer.py). */
export const TRL_CALL = new RegExp(`(?:^|\\.)(?:(?:${TRL_TRAINERS})Config|UnslothTrainingArguments)$`);
const TRAINER_CALL = new RegExp(
  `(?:^|\\.)(?:${TRL_TRAINERS}|Seq2Seq|Unsloth|SentenceTransformer|SparseEncoder|CrossEncoder)?Trainer$`,
);
/** What copies the model of a loop of one's own to every GPU, or is told how. */
const COPIES = /(?:^|\.)(?:DistributedDataParallel(?:Kwargs)?|DDP)$/;
/** What a training loop of one's own calls. */
export const LOOP = /(?:^|\.)(?:backward|AdamW|SGD|Adam|Adafactor|AdamW8bit|PagedAdamW\w*)$/;
/** What has layers computed again in backward: of transformers' models, and of timm's, which can be told not to. */
const SWITCHES_ON = /gradient_checkpointing_enable$|\.set_grad_checkpointing$/;

/** Whether a call says that nothing is computed again: `set_grad_checkpointing(False)`. */
function switchesOff(call: PythonCall): boolean {
  return /\.set_grad_checkpointing$/.test(call.callee) && plain(call.positional[0] ?? given(call, "enable")) === false;
}

export const CALLS: readonly (readonly [RegExp, string])[] = [
  [TRAINING_CALL, ""],
  [TRL_CALL, ""],
  [/(?:^|\.)LoraConfig$|get_peft_model$/, "lora."],
  ...PEFT_CALLS,
  [/(?:^|\.)LoftQConfig$/, "loftq."],
  [/(?:^|\.)BitsAndBytesConfig$/, "bnb."],
  [/(?:^|\.)DistributedConfig$/, "distributed."],
  [/(?:^|\.)ParallelismConfig$/, "parallelism_config."],
  [LOADS, "load."],
  [NAMED, "load."],
  [MODULE, "load."],
  [/(?:^|\.)AutoTokenizer\.from_pretrained$/, "tokenizer."],
  [/(?:Processor|FeatureExtractor)\.from_pretrained$/, "processor."],
  [SWITCHES_ON, "enable."],
  [/prepare_model_for_kbit_training$/, "kbit."],
  [TRAINER_CALL, "trainer."],
  [/(?:^|\.)ModelConfig$/, "model_args."],
  [ACCELERATOR, "accelerator."],
  [COPIES, "ddp."],
  [LOADER, "loader."],
  [LOOP, "loop."],
];

export const PREFIXES: readonly string[] = CALLS.flatMap(([, prefix]) => (prefix === "" ? [] : [prefix]));

/** Keyword views plus the positional model of `Trainer(model)`; `lora.call` stands only for LoraConfig itself. */
export function pythonViews(document: ConfigDocument): readonly View[] {
  const { python } = document.parsed;
  if (python === undefined) return [];
  const training = trainingOf(python);
  // Where a trainer runs, a loop beside it is another training, and it makes an accelerator of its own.
  const ownLoop = backwardCall(python) !== undefined && !hasTrainer(python);
  const loader = ownLoop ? trainingLoader(python) : undefined;
  const isRead = (call: PythonCall) =>
    call === training.load ||
    call === loader ||
    (reaches(training, call) &&
      (ownLoop
        ? !onlyWritten(python, call)
        : !COPIES.test(call.callee) && !(training.trainer !== undefined && ACCELERATOR.test(call.callee))));
  return pythonView(document, CALLS, isRead, argumentsSet).map((view) => {
    const lora = python.calls.some(
      (call) => (/(?:^|\.)LoraConfig$/.test(call.callee) || unslothAdapts(call.callee)) && isRead(call),
    );
    const entries = view.map.entries.filter((entry) => keep(entry, lora));
    const set = parsedArguments(training.trainer, python).count;
    const written = hasTrainer(python) ? (python.written ?? []) : [];
    const all = withDumped([...classDefaults(python), ...written, ...entries, ...set], python);
    const map: MapNode = { ...view.map, entries: all.filter((entry) => !isReadAsCall(entry, all)) };
    return { ...view, map };
  });
}

/** Calls of which those that the trainer or its model is given say something, and others only where it is given none. */
const GIVEN: readonly { readonly pattern: RegExp; readonly optional: boolean }[] = [
  { pattern: TRAINING_CALL, optional: false },
  { pattern: TRL_CALL, optional: false },
  { pattern: /(?:^|\.)BitsAndBytesConfig$/, optional: true },
  { pattern: /(?:^|\.)LoraConfig$|get_peft_model$/, optional: true },
];

/** Whether a call says something of the training, and not of what is loaded, configured or run beside it. */
function reaches(training: Training, call: PythonCall): boolean {
  const { callee } = call;
  if (isLoad(callee) || LOADER.test(callee) || switchesOff(call) || !isBefore(training, call)) return false;
  if (TRAINER_CALL.test(callee)) return training.trainer === undefined || call === training.trainer;
  const given = GIVEN.find(({ pattern }) => pattern.test(callee));
  if (given === undefined || training.trainer === undefined || training.parts.has(call)) return true;
  const others = [...training.parts].some((part) => given.pattern.test(part.callee));
  return !others && !(given.optional && training.followed);
}

/** Configs of adapters, and what puts any into a model (peft/mapping_func.py, transformers/integrations/peft.py). */
const ADAPTS = [/(?:^|\.)LoraConfig$/, ...PEFT_CALLS.map(([pattern]) => pattern)];
const WRAPS = /peft|adapter|lora/i;

/** A loop's config of adapters that nothing is given: no call takes it, and none wraps a model in adapters. */
function onlyWritten(python: PythonModule, call: PythonCall): boolean {
  const isConfig = ({ callee }: PythonCall) => ADAPTS.some((pattern) => pattern.test(callee));
  return (
    isConfig(call) &&
    !python.calls.some(
      (other) =>
        !isConfig(other) &&
        (WRAPS.test(other.callee) ||
          [...other.positional, ...other.keywords.entries.map(({ value }) => value)].some((node) =>
            callsBehind(python, node).includes(call),
          )),
    )
  );
}

/** Whether an argument is a name whose call is read with keys of its own: `parallelism_config=mesh`. */
function isReadAsCall({ key, value }: Entry, all: readonly Entry[]): boolean {
  return (
    value.kind === "unknown" && PREFIXES.includes(`${key}.`) && all.some((other) => other.key.startsWith(`${key}.`))
  );
}

function keep(entry: Entry, lora: boolean): boolean {
  if (/^(?:tokenizer|processor)\./.test(entry.key)) return entry.key === "tokenizer.call";
  if (entry.key === "lora.call") return lora;
  if (/^(?:load\.0|trainer\.(?:0|model))$/.test(entry.key))
    return entry.value.kind === "scalar" && typeof entry.value.value === "string";
  return entry.key.includes(".call")
    ? /^(?:enable|kbit)\./.test(entry.key) || PEFT_CALLS.some(([, prefix]) => entry.key === `${prefix}call`)
    : !/(?:^|\.)(?:0|call)$/.test(entry.key);
}

/** Fields of a dataclass that extends TrainingArguments are its defaults. */
function classDefaults(python: PythonModule): readonly Entry[] {
  return python.classes
    .filter((type) => type.bases.some((base) => TRAINING_CALL.test(base) || TRL_CALL.test(base)))
    .flatMap((type) => type.fields.entries);
}
