/** Hugging Face training written as a command or as Python (files and notebooks). */

import type { PythonCall, PythonModule } from "../../syntax/tree";
import { table } from "../../terms/table";
import { shellViews } from "../carriers";
import { readDeepspeedBlock } from "../deepspeed/read";
import type { Deriving } from "../deriving";
import { count, derived, schemaFormat, type View } from "../schema";
import { problem } from "../table";
import type { CarrierId, ConfigDocument, Format, FormatProblem, LocatedSetting } from "../types";
import { seenByScript } from "../world-size";
import { argumentsReset, parsedArguments, setTooLate } from "./arguments";
import { besideStep, copiesKept, evaluatesAfter, furtherBackwards, loaderOfTrainer } from "./beside";
import { builtModel, configOverrides } from "./built";
import { at, given, plain, said } from "./called";
import { CALLS, hasTrainer, PREFIXES, pythonViews, TRAINING_CALL, TRL_CALL } from "./calls";
import { adapterCast, castBeforeTrainer } from "./casts";
import { roundedLengths } from "./collating";
import { compiledModel } from "./compiling";
import { constructed } from "./construct";
import { embedderSettings } from "./embedders";
import { embedding } from "./embedding";
import { exampleSettings } from "./examples";
import { foreignAdapter } from "./foreign-adapter";
import { freezingOf } from "./freezing";
import { unfollowedChanges, unfollowedHelpers } from "./helpers";
import { pythonKeys, READ_BESIDE, scriptKeys, TRAINED, type Trained } from "./keys";
import { changedLayers } from "./layers";
import { ligerCalls } from "./liger-calls";
import { loadedClass } from "./loads";
import { plainLoop } from "./loop";
import { madeData } from "./made-data";
import { networkSettings } from "./networks";
import { trainerOptimizer } from "./optimizer";
import { deepspeedExperts, givenModels, otherModels } from "./others";
import { ownModelCall, ownSettings, statedSizes } from "./own";
import { lossOfRound, ownLossOf, unreadModule } from "./own-loss";
import { pictureSide } from "./pictures";
import { bareSwitches, callPlace, commandPlace } from "./places";
import { preparedBeforeTrainer } from "./prepared";
import { recognisedLoop, recognisePython, recogniseShell } from "./recognise";
import { replacedModules } from "./replaced";
import { resizedVocabulary } from "./resizing";
import { recordingLength, tokenizedLengths } from "./tokenizing";
import { tellsEmbeddings, toldModules } from "./told-outputs";
import { callsBefore, trainingOf } from "./training";
import { unslothAdapts, unslothSettings } from "./unsloth";

/** DeepSpeed settings given as a dict or as JSON text belong to the run itself. */
function derive({ stated: settings, made: result }: Deriving, view: View, { parsed }: ConfigDocument): void {
  const { python, shell } = parsed;
  result.push(...readDeepspeedBlock(settings).settings);
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
    const trained = hasTrainer(python);
    const followed = trained ? [] : plainLoop(python);
    // What a loop casts its model to is later than what it was loaded as.
    const isCast = ({ name }: LocatedSetting) => name === "load_dtype";
    const [casts, loop] = [followed.filter(isCast), followed.filter((setting) => !isCast(setting))];
    result.push(
      ...unslothSettings(python),
      ...preparedForKbit(python),
      ...embeddingsTold(python),
      ...toldModules(python),
      ...ligerCalls(python),
      ...builtModel(python),
      ...freezingOf(python),
      ...unfollowedHelpers(python),
      ...deepspeedExperts(python),
    );
    result.push(
      ...resizedVocabulary(python),
      ...changedLayers(python),
      ...replacedModules(python),
      ...unfollowedChanges(python),
      ...unreadModule(python),
    );
    const others = otherModels(python);
    const ownLoss = trained ? ownLossOf(python) : lossOfRound(python, others.length > 0);
    if (trained)
      result.push(
        ...trainerOptimizer(python),
        ...resetArguments(python),
        ...castBeforeTrainer(python),
        ...preparedBeforeTrainer(python),
        ...compiledModel(python),
        ...evaluatesAfter(python),
        ...loaderOfTrainer(python),
      );
    result.push(
      ...casts,
      ...readDeepspeedBlock(loop).settings,
      ...others,
      ...ownLoss,
      ...(trained
        ? besideStep(python, others.length > 0, ownLoss.length > 0 && ownLoss[0]?.value !== "")
        : [...copiesKept(python, others.length > 0), ...furtherBackwards(python)]),
      ...unstated(givenModels(python), settings),
      ...embedding(python),
      ...adapterDefaults(python, settings),
      ...foreignAdapter(python, settings),
      ...addedByModel(python),
      ...rankPattern(view),
      ...tokensOfEmbedding(view),
      ...adapterCast(python),
      ...adapterCondition(python),
      ...unstated(pictureSide(python), settings),
    );
    const network = networkSettings(python);
    const tokenized = tokenizedLengths(python);
    const beside = [
      ...tokenized,
      ...(tokenized.length > 0 ? [] : unstated(madeData(python), pictureSide(python))),
      ...recordingLength(python),
      ...roundedLengths(python),
      ...seenByScript(python.assignments),
      ...loop,
      ...network,
    ];
    result.push(...loadedClass(python), ...configOverrides(python), ...unstated(beside, settings));
    // What neither transformers nor a library builds is somebody's own.
    const { load } = trainingOf(python);
    if (network.length > 0 || trained) return;
    const own = load === undefined || load === ownModelCall(python);
    const sizes = own ? ownSettings(python) : statedSizes(python).filter(({ name }) => name === "micro_batch_size");
    result.push(...unstated(sizes, [...settings, ...result]));
  }
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
function leavesCheckpointing(call: PythonCall): boolean {
  return plain(given(call, "use_gradient_checkpointing")) === false;
}

/** Checkpointing is switched on beside, unless told not to (peft/utils/other.py, prepare_model_for_kbit_training). */
function preparedForKbit(python: PythonModule): readonly LocatedSetting[] {
  const call = callsBefore(python).find(({ callee }) => PREPARES.test(callee));
  return call === undefined || leavesCheckpointing(call) ? [] : [at("gradient_checkpointing", call, true)];
}

/** What has embeddings require grad: the call itself, or peft where checkpointing is on before it wraps the model (peft/peft_model.py). */
const TELLS = /(?:^|\.)enable_input_require_grads$/;

/** Whether a script that wraps its model in adapters has embeddings require grad; which releases do it by themselves is not the script's to say. */
function embeddingsTold(python: PythonModule): readonly LocatedSetting[] {
  const before = callsBefore(python);
  const wraps = before.find(({ callee }) => /(?:^|\.)get_peft_model$/.test(callee));
  if (wraps === undefined) return [];
  const tells =
    tellsEmbeddings(python) ||
    before.some(
      (call) =>
        TELLS.test(call.callee) ||
        (PREPARES.test(call.callee) && !leavesCheckpointing(call)) ||
        (/gradient_checkpointing_enable$/.test(call.callee) && call.start < wraps.start),
    );
  return [at("embeddings_require_grad", wraps, tells)];
}

/** Which call makes the adapter: what it leaves open has its own defaults, not those of the trainer's arguments. */
function adapterDefaults(python: PythonModule, settings: readonly LocatedSetting[]): readonly LocatedSetting[] {
  if (!settings.some(({ name }) => name === "adapter")) return [];
  const made = callsBefore(python);
  const unsloth = made.find(({ callee }) => unslothAdapts(callee));
  const peft = made.find(({ callee }) => /(?:^|\.)LoraConfig$/.test(callee));
  if (unsloth !== undefined) return [at("adapter_defaults", unsloth, "unsloth")];
  return peft === undefined ? [] : [at("adapter_defaults", peft, "peft")];
}

/** Factors stay in the model's dtype where transformers puts them on it (transformers/integrations/peft.py, `add_adapter`; PeftModel.__init__ raises them). */
function addedByModel(python: PythonModule): readonly LocatedSetting[] {
  const before = callsBefore(python);
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
  const { start, end } = entry.value;
  return [said("adapter_ranks", { ...entry, value: { kind: "list", items, start, end } })];
}

/** Tokens of the embedding that LoRA trains, where they are given by the embedding's name (peft/tuners/lora/config.py, `trainable_token_indices`). */
function tokensOfEmbedding({ map }: View): readonly LocatedSetting[] {
  const entry = map.entries.findLast(({ key }) => key === "lora.trainable_token_indices");
  const tokens = entry?.value.kind === "map" ? entry.value.entries[0]?.value : undefined;
  if (entry === undefined || tokens?.kind !== "list") return [];
  return [said("adapter_token_indices", { ...entry, value: tokens })];
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
  return [said("words_alone", { ...entry, key: "from_pretrained" }, true)];
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
