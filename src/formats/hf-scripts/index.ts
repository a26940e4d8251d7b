/** Hugging Face training written as a command or as Python (files and notebooks). */

import type { Entry, MapNode, PythonCall, PythonModule } from "../../syntax/tree";
import { table } from "../../terms/table";
import { say } from "../../words/message";
import { pythonView, shellViews } from "../carriers";
import { deepspeedReader } from "../deepspeed/read";
import { TRAINING_ARGUMENTS_KEYS } from "../hf-training-arguments/keys";
import { PEFT_CALLS } from "../peft";
import { builds, NOT_RECOGNISED, passes, type Recognition, runs, trains } from "../recognition";
import { count, derived, schemaFormat, type View } from "../schema";
import { problem } from "../table";
import { TRL_KEYS } from "../trl/keys";
import type { CarrierId, ConfigDocument, Format, FormatProblem, LocatedSetting } from "../types";
import { argumentsReset, argumentsSet, parsedArguments, setTooLate } from "./arguments";
import { besideStep, evaluatesAfter, loaderOfTrainer } from "./beside";
import { builtModel, configOverrides } from "./built";
import { at, keyword } from "./called";
import { castBeforeTrainer } from "./casts";
import { roundedLengths } from "./collating";
import { constructed } from "./construct";
import { embedderSettings } from "./embedders";
import { exampleSettings } from "./examples";
import { adapterCast, freezingOf } from "./freezing";
import { pythonKeys, READ_BESIDE, scriptKeys, TRAINED, type Trained } from "./keys";
import { changedLayers } from "./layers";
import { loadedClass } from "./loads";
import { backwardCall, LOADER, plainLoop, trainingLoader } from "./loop";
import { builtNetwork, networkSettings } from "./networks";
import { trainerOptimizer } from "./optimizer";
import { ownModelCall, ownSettings } from "./own";
import { ownLossOf } from "./own-loss";
import { pictureSide } from "./pictures";
import { bareSwitches, callPlace, commandPlace } from "./places";
import { resizedVocabulary } from "./resizing";
import { tokenizedLengths } from "./tokenizing";
import {
  callsBehind,
  isBefore,
  isLoad,
  LOADS,
  loadsBehind,
  NAMED,
  otherCopies,
  type Training,
  trainingOf,
} from "./training";
import { unslothAdapts, unslothSettings } from "./unsloth";

const TRAINING = TRAINING_ARGUMENTS_KEYS.flatMap((key) => [key.key, ...(key.aliases ?? [])]).concat(
  "output_dir",
  "num_train_epochs",
  "learning_rate",
  "max_steps",
  "model_name_or_path",
  "save_steps",
  "logging_steps",
  "report_to",
  "warmup_ratio",
  "weight_decay",
  "lr_scheduler_type",
);
const TRL_ONLY = TRL_KEYS.map((key) => key.key)
  .concat("dataset_name", "dataset_text_field")
  .filter((key) => !key.includes("."));

/** Options of TRL's scripts that others with a `dataset_name` do not have. */
const TRL_SCRIPTS = [
  "use_peft",
  "lora_r",
  "max_length",
  "num_generations",
  "packing",
  "num_ppo_epochs",
  "response_length",
];

/** DeepSpeed settings given as a dict or as JSON text belong to the run itself. */
function derive(
  settings: readonly LocatedSetting[],
  view: View,
  { parsed: { python, shell } }: ConfigDocument,
): readonly LocatedSetting[] {
  const result: LocatedSetting[] = [];
  const inline = settings.find((setting) => setting.name === "deepspeed" && setting.node.kind === "map");
  if (inline?.node.kind === "map") result.push(...deepspeedReader(inline.node, inline.key).settings);
  const dtype = settings.findLast(
    (setting) => setting.name === "mixed_precision" && (setting.value === "bf16" || setting.value === "fp16"),
  );
  // The trainer's own bf16 and fp16 win over the launcher's option.
  if (dtype !== undefined && !settings.some((setting) => setting.name === "bf16" || setting.name === "fp16"))
    result.push(derived(dtype, dtype.value === "bf16" ? "bf16" : "fp16", true));
  result.push(...readsWordsAlone(view), ...joinedLength(settings));
  const command = shell?.commands.find(({ start }) => start === view.map.start);
  if (command !== undefined)
    result.push(
      ...unstated([...exampleSettings(command), ...embedderSettings(command, settings)], settings),
      ...adaptsQuantized(settings),
    );
  result.push(...unstated(besideTower(settings), settings));
  if (python !== undefined) {
    const loop = hasTrainer(python) ? [] : plainLoop(python);
    result.push(
      ...unslothSettings(python),
      ...preparedForKbit(python),
      ...embeddingsTold(python),
      ...builtModel(python),
      ...freezingOf(python),
    );
    result.push(...resizedVocabulary(python), ...changedLayers(python));
    const others = otherModels(python);
    const ownLoss = hasTrainer(python) ? ownLossOf(python) : [];
    if (hasTrainer(python))
      result.push(
        ...trainerOptimizer(python),
        ...resetArguments(python),
        ...castBeforeTrainer(python),
        ...evaluatesAfter(python),
        ...loaderOfTrainer(python),
      );
    result.push(
      ...others,
      ...ownLoss,
      ...(hasTrainer(python)
        ? besideStep(python, others.length > 0, ownLoss.length > 0 && ownLoss[0]?.value !== "")
        : []),
      ...unstated(givenModels(python), settings),
      ...embedding(python),
      ...adapterDefaults(python, settings),
      ...addedByModel(python),
      ...rankPattern(view),
      ...tokensOfEmbedding(view),
      ...adapterCast(python),
      ...adapterCondition(python),
      ...unstated(pictureSide(python), settings),
    );
    const network = networkSettings(python);
    const beside = [...tokenizedLengths(python), ...roundedLengths(python), ...loop, ...network];
    result.push(...loadedClass(python), ...configOverrides(python), ...unstated(beside, settings));
    // What neither transformers nor a library builds is somebody's own.
    const { load } = trainingOf(python);
    if (network.length === 0 && !hasTrainer(python) && (load === undefined || load === ownModelCall(python)))
      result.push(...unstated(ownSettings(python), [...settings, ...result]));
  }
  return result;
}

/**
 * What LLaVA's script does around a tower: it runs without gradients, and adapters are put on the language model before it is there,
 * beside which the projector is trained whole (llava/train/train.py, find_all_linear_names, initialize_vision_modules).
 */
function besideTower(settings: readonly LocatedSetting[]): readonly LocatedSetting[] {
  const tower = settings.find(({ name }) => name === "vision_tower");
  if (tower === undefined) return [];
  const adapted = settings.some(({ name, value }) => name === "use_peft" && value === true);
  return [
    derived(tower, "freeze_vision_tower", true),
    ...(adapted
      ? [
          derived(tower, "lora_target_modules", ".*language_model\\..*_proj"),
          derived(tower, "lora_modules_to_save", "multi_modal_projector"),
        ]
      : []),
  ];
}

/** Questions and answers that are cut apart make one sequence. */
function joinedLength(settings: readonly LocatedSetting[]): readonly LocatedSetting[] {
  if (settings.some(({ name }) => name === "sequence_length")) return [];
  const stated = Object.keys(JOINED).flatMap((key) => settings.findLast((setting) => setting.key === key) ?? []);
  // What the command says stands before what is only the program's default.
  const [said] = stated.toSorted((a, b) => a.keySpan.start - b.keySpan.start);
  if (said === undefined || stated.some(({ value }) => typeof value !== "number")) return [];
  const lengths = Object.entries(JOINED).map(
    ([key, standard]) => stated.find((one) => one.key === key)?.value ?? standard,
  );
  return [
    derived(
      said,
      "sequence_length",
      lengths.reduce<number>((sum, length) => sum + Number(length), 0),
    ),
  ];
}

/** Parts of a sequence that are cut apart, with QLoRA's defaults (qlora.py, DataArguments). */
const JOINED: Readonly<Record<string, number>> = table({ source_max_len: 1024, target_max_len: 256 });

/**
 * Quantized weights cannot be trained by themselves: a rank beside them is LoRA's (transformers/trainer_utils.py,
 * validate_quantization_for_training; qlora.py's `full_finetune` is off).
 */
function adaptsQuantized(settings: readonly LocatedSetting[]): readonly LocatedSetting[] {
  const of = (...names: readonly string[]) => settings.findLast(({ name }) => name !== null && names.includes(name));
  const packed = of("quantization", "load_in_4bit", "load_in_8bit")?.value;
  const rank = of("lora_rank");
  if (packed === undefined || packed === false || packed === "none" || typeof rank?.value !== "number") return [];
  return rank.value > 0 && of("adapter", "use_peft") === undefined ? [derived(rank, "adapter", "lora")] : [];
}

const PREPARES = /(?:^|\.)prepare_model_for_(?:kbit|int8)_training$/;

/** Whether a call that prepares packed weights is told to leave checkpointing off, and the inputs with it. */
function leavesCheckpointing({ keywords }: PythonModule["calls"][number]): boolean {
  const own = keywords.entries.find(({ key }) => key === "use_gradient_checkpointing")?.value;
  return own?.kind === "scalar" && own.value === false;
}

/** Checkpointing is switched on beside, unless told not to (peft/utils/other.py, prepare_model_for_kbit_training). */
function preparedForKbit(python: PythonModule): readonly LocatedSetting[] {
  const training = trainingOf(python);
  const before = python.calls.filter((call) => isBefore(training, call));
  const call = before.find(({ callee }) => PREPARES.test(callee));
  if (call === undefined || leavesCheckpointing(call)) return [];
  const { callee: key, calleeSpan } = call;
  const node = { kind: "scalar" as const, value: true, raw: key, ...calleeSpan };
  return [{ name: "gradient_checkpointing", key, value: true, node, keySpan: calleeSpan, valueSpan: calleeSpan }];
}

/** What has embeddings require grad: the call itself, or peft where checkpointing is on before it wraps the model (peft/peft_model.py). */
const TELLS = /(?:^|\.)enable_input_require_grads$/;

/** Whether a script that wraps its model in adapters has embeddings require grad; which releases do it by themselves is not the script's to say. */
function embeddingsTold(python: PythonModule): readonly LocatedSetting[] {
  const training = trainingOf(python);
  const before = python.calls.filter((call) => isBefore(training, call));
  const wraps = before.find(({ callee }) => /(?:^|\.)get_peft_model$/.test(callee));
  if (wraps === undefined) return [];
  const value = before.some(
    (call) =>
      TELLS.test(call.callee) ||
      (PREPARES.test(call.callee) && !leavesCheckpointing(call)) ||
      (/gradient_checkpointing_enable$/.test(call.callee) && call.start < wraps.start),
  );
  const { callee: key, calleeSpan } = wraps;
  const node = { kind: "scalar" as const, value, raw: key, ...calleeSpan };
  return [{ name: "embeddings_require_grad", key, value, node, keySpan: calleeSpan, valueSpan: calleeSpan }];
}

/** Models beside the trained one that the script's own trainer is given, or calls by a name of the module's. */
function otherModels(python: PythonModule): readonly LocatedSetting[] {
  const { trainer, load, parts } = trainingOf(python);
  const own = python.classes.find(({ name }) => name === trainer?.callee);
  if (own === undefined) return [];
  const called = new Set(
    python.calls.filter(({ start, end }) => start >= own.start && end <= own.end).map(({ callee }) => callee),
  );
  const named = python.assignments.entries.filter(({ key }) => called.has(key));
  const calledLoads = named.flatMap(({ value }) => loadsBehind(python, value));
  const copied = otherCopies(python).some((copy) =>
    named.some(({ value }) => callsBehind(python, value).includes(copy)),
  );
  const other =
    [...parts, ...calledLoads].find((call) => call !== load && isLoad(call.callee)) ?? (copied ? load : undefined);
  const name = other?.positional[0];
  if (other === undefined) return [];
  const dtype = keyword(other, "dtype")?.value ?? keyword(other, "torch_dtype")?.value;
  const first = (isIt: (callee: string) => boolean): number =>
    Math.min(
      ...python.calls.flatMap(({ callee, start, end }) =>
        start >= own.start && end <= own.end && isIt(callee) ? [start] : [],
      ),
    );
  const teacher = first((callee) => /^(?:self\.)?\w{0,20}teacher\w{0,20}$/i.test(callee));
  const student = first((callee) => callee === "model");
  return [
    ...(Number.isFinite(teacher) && student < teacher ? [at("other_model_runs", other, true)] : []),
    at("other_model", other, name?.kind === "scalar" ? String(name.value) : other.callee),
    ...(dtype?.kind === "scalar" && typeof dtype.value === "string" && dtype.value !== "auto"
      ? [at("other_model_dtype", other, dtype.value, dtype)]
      : []),
  ];
}

/** Models that trainers of TRL are given beside the trained one, as what loads them or by name. */
const BESIDE = ["teacher_model", "ref_model"] as const;

function givenModels(python: PythonModule): readonly LocatedSetting[] {
  const { trainer, load } = trainingOf(python);
  if (trainer === undefined || python.classes.some(({ name }) => name === trainer.callee)) return [];
  const own = load?.positional[0];
  return BESIDE.flatMap((setting) => {
    const given = keyword(trainer, setting)?.value;
    const name = given?.kind === "scalar" ? given : loadsBehind(python, given).at(-1)?.positional[0];
    if (name?.kind !== "scalar" || typeof name.value !== "string") return [];
    // A reference like the trained model is what the trainer makes itself.
    const same = setting === "ref_model" && own?.kind === "scalar" && own.value === name.value;
    return same ? [] : [at(setting, trainer, name.value, name)];
  });
}

/** Trainers of texts' embeddings: a pair goes through the model text by text, as a reward model's does. */
const EMBEDS = /(?:^|\.)(?:SentenceTransformer|SparseEncoder)Trainer$/;

function embedding(python: PythonModule): readonly LocatedSetting[] {
  const { trainer } = trainingOf(python);
  return trainer !== undefined && EMBEDS.test(trainer.callee) ? [at("rl", trainer, "reward")] : [];
}

/** Which call makes the adapter: what it leaves open has its own defaults, not those of the trainer's arguments. */
function adapterDefaults(python: PythonModule, settings: readonly LocatedSetting[]): readonly LocatedSetting[] {
  if (!settings.some(({ name }) => name === "adapter")) return [];
  const training = trainingOf(python);
  const made = python.calls.filter((call) => isBefore(training, call));
  const unsloth = made.find(({ callee }) => unslothAdapts(callee));
  const peft = made.find(({ callee }) => /(?:^|\.)LoraConfig$/.test(callee));
  if (unsloth !== undefined) return [at("adapter_defaults", unsloth, "unsloth")];
  return peft === undefined ? [] : [at("adapter_defaults", peft, "peft")];
}

/** Factors stay in the model's dtype where transformers puts them on it (transformers/integrations/peft.py, `add_adapter`; PeftModel.__init__ raises them). */
function addedByModel(python: PythonModule): readonly LocatedSetting[] {
  const training = trainingOf(python);
  const before = python.calls.filter((call) => isBefore(training, call));
  const adds = before.find(({ callee }) => /(?:^|\.)add_adapter$/.test(callee));
  const wraps = before.some(({ callee }) =>
    /(?:^|\.)(?:get_peft_model|PeftModel\w{0,40}\.from_pretrained)$/.test(callee),
  );
  return adds === undefined || wraps ? [] : [at("autocast_adapter_dtype", adds, false)];
}

/** Ranks of modules by patterns of their names, each as JSON (peft/utils/peft_types.py; `rank_pattern` of LoraConfig). */
function rankPattern({ map }: View): readonly LocatedSetting[] {
  const entry = map.entries.findLast(({ key }) => key === "lora.rank_pattern");
  if (entry?.value.kind !== "map") return [];
  const items = entry.value.entries.flatMap(({ key, value }) =>
    value.kind === "scalar" ? [{ ...value, value: JSON.stringify([key, value.value]) }] : [],
  );
  const { keySpan, value: node } = entry;
  const list = { kind: "list" as const, items, start: node.start, end: node.end };
  return [{ name: "adapter_ranks", key: entry.key, value: null, node: list, keySpan, valueSpan: list }];
}

/** Tokens of the embedding that LoRA trains, where they are given by the embedding's name (peft/tuners/lora/config.py, `trainable_token_indices`). */
function tokensOfEmbedding({ map }: View): readonly LocatedSetting[] {
  const entry = map.entries.findLast(({ key }) => key === "lora.trainable_token_indices");
  const tokens = entry?.value.kind === "map" ? entry.value.entries[0]?.value : undefined;
  if (entry === undefined || tokens?.kind !== "list") return [];
  const { key, keySpan } = entry;
  return [{ name: "adapter_token_indices", key, value: null, node: tokens, keySpan, valueSpan: tokens }];
}

/** The condition, not known, under which the trained model gets its adapter. */
function adapterCondition(python: PythonModule): readonly LocatedSetting[] {
  const training = trainingOf(python);
  const call = [...training.parts].find(
    ({ callee, guards = [] }) => /(?:^|\.)(?:get_peft_model|LoraConfig)$/.test(callee) && guards.length > 0,
  );
  const guard = call?.guards?.at(-1);
  if (call === undefined || guard === undefined) return [];
  return [at("adapter_condition", call, guard.holds ? guard.raw : `not (${guard.raw})`)];
}

/** What methods of the trainer's arguments set without being told. */
function resetArguments(python: PythonModule): readonly LocatedSetting[] {
  const { parts } = trainingOf(python);
  return [...parts].filter(({ callee }) => TRAINING_CALL.test(callee)).flatMap((made) => argumentsReset(made, python));
}

/** Arguments that a script sets when what they say is decided already. */
function tooLate(python: PythonModule): readonly FormatProblem[] {
  const { parts, trainer } = trainingOf(python);
  const made = [...parts].filter(({ callee }) => TRAINING_CALL.test(callee) || TRL_CALL.test(callee));
  const late = [...made.flatMap((call) => setTooLate(call, python)), ...parsedArguments(trainer, python).late];
  return late.map(({ key, keySpan }) => problem("set-too-late", "warning", keySpan, "set-too-late", { key }));
}

/** Whether a trainer of transformers or TRL runs the loop, whatever else the module calls. */
function hasTrainer({ calls }: PythonModule): boolean {
  return calls.some(({ callee }) => TRAINING_CALL.test(callee) || TRL_CALL.test(callee) || TRAINER_CALL.test(callee));
}

/** What the trainer's own arguments leave open. */
function unstated(found: readonly LocatedSetting[], settings: readonly LocatedSetting[]): readonly LocatedSetting[] {
  return found.filter(({ name }) => !settings.some((setting) => setting.name === name));
}

const TOKENIZES = /(?:^|\.)(?:AutoTokenizer|FastLanguageModel)\.from_pretrained$/;
/** What makes pictures or sound ready beside the words, or a model that is given both. */
const PROCESSES = /(?:Processor|FeatureExtractor|FastVisionModel)\.from_pretrained$/;

/** Unsloth's loader of any model: pictures and sound come through a collator of their own there (`UnslothVisionDataCollator`). */
const LOADS_ANY = /(?:^|\.)FastModel\.from_pretrained$/;

/** A tokenizer alone prepares the samples: a model that reads pictures, too, is given none. */
function readsWordsAlone(view: View): readonly LocatedSetting[] {
  const plain = view.words.some((word) => LOADS_ANY.test(word)) && count(view.map, ["trainer.data_collator"]) === 0;
  if (!plain && !view.words.some((word) => TOKENIZES.test(word))) return [];
  if (view.words.some((word) => PROCESSES.test(word))) return [];
  const entry = view.map.entries.find(({ key }) => key === "tokenizer.call" || /^load\.(?:0|model_name)$/.test(key));
  if (entry === undefined) return [];
  const { keySpan, value: node } = entry;
  const valueSpan = { start: node.start, end: node.end };
  return [{ name: "words_alone", key: "from_pretrained", value: true, node, keySpan, valueSpan }];
}

/** Programs that a launcher starts to answer, not to train. */
const ANSWERS = /(?:^|[/_])(?:chatbot|inference|infer|predict|serve|demo|eval|evaluate|evaluation)\w{0,20}\.py$/;

function recogniseShell({ plain }: Trained, view: View): Recognition {
  const command = view.words.join(" ");
  if (
    /llamafactory-cli|openrlhf|verl\.|swift[/.]cli|(?:^|\s)(?:swift|megatron)\s{1,20}(?:sft|pt|rlhf)|axolotl|tune run|nnUNet/.test(
      command,
    )
  )
    return NOT_RECOGNISED;
  const training = count(view.map, TRAINING);
  const trl = count(view.map, TRL_ONLY);
  const isTrl =
    /(?:^|[\s/])trl[\s/.]|\btrl\b/.test(command) ||
    (trl >= 2 && count(view.map, ["dataset_name"]) > 0 && count(view.map, TRL_SCRIPTS) > 0);
  const wanted = plain !== isTrl;
  if (count(view.map, ["per_device_train_batch_size"]) > 0 || training >= 4)
    return { confidence: wanted ? 0.92 : 0.6, because: passes(training, "TrainingArguments") };
  if (view.words.some((word) => ANSWERS.test(word))) return NOT_RECOGNISED;
  if (plain && /accelerate(?:\.commands\.launch)?(?:\s+launch)?\b/.test(command) && /launch/.test(command))
    return { confidence: 0.62, because: runs("accelerate launch") };
  if (plain && /^(?:\S*\/)?deepspeed\s/.test(command) && count(view.map, ["deepspeed", "deepspeed_config"]) > 0)
    return { confidence: 0.62, because: runs("deepspeed") };
  if (!plain && isTrl && /\btrl\s+(?:sft|dpo|grpo|kto|reward|rloo)\b/.test(command))
    return { confidence: 0.9, because: runs("trl") };
  return training >= 2 &&
    /\.py\b|torchrun|python/.test(command) &&
    count(view.map, ["output_dir", "model_name_or_path"]) > 0
    ? { confidence: 0.55, because: passes(training, "TrainingArguments") }
    : NOT_RECOGNISED;
}

function shell(trained: Trained): Format {
  const format = schemaFormat({
    id: trained.id,
    carrier: "shell",
    keys: scriptKeys(trained),
    readsBeside: (path) => Object.hasOwn(JOINED, path),
    views: shellViews,
    derive,
    recognise: (view) => recogniseShell(trained, view),
    place: (key, view, _document, context) => commandPlace(key, view, context),
  });
  return {
    ...format,
    edit: (document, changes, context = { libraries: {} }) =>
      bareSwitches(format.edit(document, changes, context), context),
  };
}

/** The Trainer's arguments, and the classes that libraries and scripts make of them (`Seq2Seq…`, `SentenceTransformer…`, `ORT…`). */
const TRAINING_CALL = /(?:^|\.)\w{0,40}TrainingArguments$/;
/** Trainers of TRL 0.12 to 1.16, by what their classes begin with. */
const TRL_TRAINERS = [
  ..."SFT DPO ORPO KTO CPO Reward PPO PPOv2 RLOO GRPO GKD BCO XPO NashMD OnlineDPO AlignProp DDPO IterativeSFT PRM".split(
    " ",
  ),
  ..."TPO GFPO GMPO A2PO GRPOWithReplayBuffer AsyncGRPO AsyncDistillation ServerDistillation Distillation".split(" "),
  ..."GOLD MiniLLM IWOPD SDFT SDPO SSD".split(" "),
].join("|");
/** Unsloth's classes extend those of TRL's SFT (unsloth/trainer.py). */
const TRL_CALL = new RegExp(`(?:^|\\.)(?:(?:${TRL_TRAINERS})Config|UnslothTrainingArguments)$`);
const TRAINER_CALL = new RegExp(
  `(?:^|\\.)(?:${TRL_TRAINERS}|Seq2Seq|Unsloth|SentenceTransformer|SparseEncoder|CrossEncoder)?Trainer$`,
);
/** What a training loop of one's own calls. */
const LOOP = /(?:^|\.)(?:backward|AdamW|SGD|Adam|Adafactor|AdamW8bit|PagedAdamW\w*)$/;
const CALLS: readonly (readonly [RegExp, string])[] = [
  [TRAINING_CALL, ""],
  [TRL_CALL, ""],
  [/(?:^|\.)LoraConfig$|get_peft_model$/, "lora."],
  ...PEFT_CALLS,
  [/(?:^|\.)LoftQConfig$/, "loftq."],
  [/(?:^|\.)BitsAndBytesConfig$/, "bnb."],
  [LOADS, "load."],
  [NAMED, "load."],
  [/(?:^|\.)AutoTokenizer\.from_pretrained$/, "tokenizer."],
  [/(?:Processor|FeatureExtractor)\.from_pretrained$/, "processor."],
  [/gradient_checkpointing_enable$/, "enable."],
  [/prepare_model_for_kbit_training$/, "kbit."],
  [TRAINER_CALL, "trainer."],
  [/(?:^|\.)ModelConfig$/, "model_args."],
  [/(?:^|\.)Accelerator$/, "accelerator."],
  [LOADER, "loader."],
  [LOOP, "loop."],
];

const PREFIXES: readonly string[] = CALLS.flatMap(([, prefix]) => (prefix === "" ? [] : [prefix]));

/** Keyword views plus the positional model of `Trainer(model)`; `lora.call` stands only for LoraConfig itself. */
function pythonViews(document: ConfigDocument): readonly View[] {
  const { python } = document.parsed;
  if (python === undefined) return [];
  const training = trainingOf(python);
  // Where a trainer runs, a loop beside it is another training.
  const ownLoop = backwardCall(python) !== undefined && !hasTrainer(python);
  const loader = ownLoop ? trainingLoader(python) : undefined;
  const isRead = (call: PythonCall) => call === training.load || call === loader || reaches(training, call);
  return pythonView(document, CALLS, isRead, argumentsSet).map((view) => {
    const lora = python.calls.some(
      (call) => (/(?:^|\.)LoraConfig$/.test(call.callee) || unslothAdapts(call.callee)) && isRead(call),
    );
    const entries = view.map.entries.filter((entry) => keep(entry, lora));
    const set = parsedArguments(training.trainer, python).count;
    const map: MapNode = { ...view.map, entries: [...classDefaults(python), ...entries, ...set] };
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
  if (isLoad(callee) || LOADER.test(callee) || !isBefore(training, call)) return false;
  if (TRAINER_CALL.test(callee)) return training.trainer === undefined || call === training.trainer;
  const given = GIVEN.find(({ pattern }) => pattern.test(callee));
  if (given === undefined || training.trainer === undefined || training.parts.has(call)) return true;
  const others = [...training.parts].some((part) => given.pattern.test(part.callee));
  return !others && !(given.optional && training.followed);
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

function recognisePython({ plain }: Trained, view: View, python: PythonModule | undefined): Recognition {
  const trl = view.words.some((word) => /^trl(?:\.|$)/.test(word)) || view.words.some((word) => TRL_CALL.test(word));
  const transformers = view.words.some((word) => /^(?:transformers|peft|unsloth|accelerate)(?:\.|$)/.test(word));
  const called = view.words.some((word) => TRAINING_CALL.test(word) || TRL_CALL.test(word));
  const trained =
    called ||
    view.words.some((word) => /(?:^|\.)\w*Trainer$/.test(word)) ||
    view.map.entries.some((entry) => TRAINING.includes(entry.key));
  const wanted = plain !== trl;
  const loop = view.words.some((word) => LOOP.test(word));
  const models =
    view.map.entries.some((entry) => /^(?:lora|load|accelerator)\./.test(entry.key)) ||
    view.words.some((word) => isLoad(word)) ||
    (python !== undefined && builtModel(python).length > 0);
  if (called && (trl || transformers))
    return { confidence: wanted ? 0.95 : 0.6, because: trl ? builds("TRL config") : builds("TrainingArguments") };
  if (trained && (trl || transformers))
    return {
      confidence: wanted ? 0.9 : 0.55,
      because: trl ? trains("TRL") : trains("Hugging Face Trainer"),
    };
  if (plain && loop && models && transformers)
    return { confidence: 0.52, because: say("because.own-loop", { model: "transformers" }) };
  return called ? { confidence: wanted ? 0.7 : 0.5, because: builds("TrainingArguments") } : NOT_RECOGNISED;
}

/** A loop around a network of torchvision or timm, or around a class of the workspace, which names nothing of transformers. */
function recognisedLoop(trained: Trained, view: View, { parsed: { python } }: ConfigDocument): Recognition | undefined {
  if (!trained.plain || python === undefined || backwardCall(python) === undefined) return undefined;
  const network = builtNetwork(python) ?? ownModelCall(python);
  if (network === undefined || recognisePython(trained, view, python).confidence > 0) return undefined;
  return { confidence: 0.52, because: say("because.own-loop", { model: network.callee }) };
}

function python(trained: Trained, carrier: CarrierId): Format {
  const syntax = carrier === "notebook" ? "notebook" : "python";
  return schemaFormat({
    id: trained.id,
    carrier,
    keys: pythonKeys(trained),
    calls: CALLS,
    readsBeside: (path) => READ_BESIDE.test(path),
    views: (document) => (document.parsed.syntax === syntax ? pythonViews(document) : []),
    derive,
    check: (_settings, _view, { parsed }) => (parsed.python === undefined ? [] : tooLate(parsed.python)),
    recognise: (view, document) =>
      recognisedLoop(trained, view, document) ?? recognisePython(trained, view, document.parsed.python),
    place: (key, view, document, context) => callPlace(key, view, document, context, PREFIXES),
    construct: constructed,
  });
}

export const HF_SCRIPTS: readonly Format[] = TRAINED.flatMap((trained) => [
  shell(trained),
  python(trained, "python"),
  python(trained, "notebook"),
]);
