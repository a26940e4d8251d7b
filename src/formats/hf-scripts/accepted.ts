/** Which arguments a call may be given: what its class takes in the version in force, and what the module adds to it. */
import type { Entry, PythonCall, PythonModule } from "../../syntax/tree";
import { table } from "../../terms/table";
import { nearest } from "../suggest";
import { lastName } from "./called";
import { isExample } from "./examples";
import signatures from "./signatures.json";
import { replacesTrl } from "./unsloth";

interface Signature {
  readonly library: string;
  /** Class of another library whose arguments it takes besides. */
  readonly base?: string;
  /** `name@1.2` since that version, `name!1.4` until before it. */
  readonly takes: readonly string[];
}

const SIGNATURES: Readonly<Record<string, Signature>> = table(signatures.classes);

/** Versions of libraries by their names. */
export type Versions = Readonly<Record<string, string>>;

/** Deepest chain of classes of the module itself. */
const DEEPEST = 8;

const parts = (version: string): readonly number[] => version.split(".").map((part) => Number.parseInt(part, 10) || 0);

function isBefore(a: string, b: string): boolean {
  const [left, right] = [parts(a), parts(b)];
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

const read = new Map<string, ReadonlyMap<string, { readonly since?: string; readonly until?: string }>>();

/** Arguments of a class with the versions between which it takes them. */
function argumentsOf(name: string): ReadonlyMap<string, { readonly since?: string; readonly until?: string }> {
  let found = read.get(name);
  if (found === undefined) {
    found = new Map(
      (SIGNATURES[name]?.takes ?? []).map((word) => {
        const [, argument = "", since, until] = /^(\w+)(?:@([\d.]+))?(?:!([\d.]+))?$/.exec(word) ?? [];
        return [argument, { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) }];
      }),
    );
    read.set(name, found);
  }
  return found;
}

/** Whether a class of the libraries takes an argument; undefined for a class that is not known. */
export function takes(name: string, argument: string, versions: Versions): boolean | undefined {
  const signature = SIGNATURES[name];
  if (signature === undefined) return undefined;
  const known = argumentsOf(name).get(argument);
  const version = versions[signature.library];
  if (known !== undefined && version === undefined) return known.until === undefined;
  if (known !== undefined && version !== undefined) {
    const early = known.since !== undefined && isBefore(version, known.since);
    const late = known.until !== undefined && !isBefore(version, known.until);
    if (!early && !late) return true;
  }
  return signature.base === undefined ? false : takes(signature.base, argument, versions);
}

/** The same for a class that the module may define on top of one of the libraries'. */
export function takesHere(
  name: string,
  argument: string,
  module: Pick<PythonModule, "classes">,
  versions: Versions,
  depth = 0,
): boolean | undefined {
  const own = module.classes.find((type) => type.name === name);
  if (own === undefined || depth > DEEPEST) return takes(name, argument, versions);
  if (own.fields.entries.some(({ key }) => key === argument)) return true;
  const above = own.bases.map((base) =>
    lastName(base) === name
      ? takes(name, argument, versions)
      : takesHere(lastName(base), argument, module, versions, depth + 1),
  );
  return above.includes(true) ? true : above.includes(undefined) || above.length === 0 ? undefined : false;
}

/** Arguments of a module's calls that their classes refuse, as `Class.argument`. */
export function refusedArguments(module: PythonModule, versions: Versions): readonly string[] {
  return module.calls.flatMap((call: PythonCall) => {
    const name = lastName(call.callee);
    return call.keywords.entries
      .filter(({ key }) => takesHere(name, key, module, versions) === false)
      .map(({ key }) => `${name}.${key}`);
  });
}

/** An argument of a call that Python stops at. */
export interface RefusedArgument {
  readonly argument: Entry;
  readonly className: string;
  readonly library: string;
  /** The release in force refuses it; where none is said, no release that is known takes it. */
  readonly version?: string;
  /** What it probably meant. */
  readonly near?: string;
}

/** Libraries of a class, and of those that it extends, whose releases have an argument or had it once. */
function librariesWith(name: string, argument: string): readonly string[] {
  const signature = SIGNATURES[name];
  if (signature === undefined) return [];
  const above = signature.base === undefined ? [] : librariesWith(signature.base, argument);
  return argumentsOf(name).has(argument) ? [signature.library, ...above] : above;
}

/** Whether a callee is a library's by an import, under whatever name, and no class of the module. */
function isOf(library: string, callee: string, module: PythonModule): boolean {
  const [first = "", ...rest] = callee.split(".");
  if (rest.length === 0 && module.classes.some(({ name }) => name === callee)) return false;
  const meant = [module.bound.get(first) ?? first, ...rest].join(".");
  const whole = rest.length === 0 ? [...module.bound.values()].filter((name) => lastName(name) === callee) : [];
  const origins = [meant, ...whole].filter((name) => name.includes("."));
  return origins.length > 0 && origins.every((name) => name.startsWith(`${library}.`));
}

/** All that a class takes in a release, or in the newest one. */
function allTaken(name: string, versions: Versions): readonly string[] {
  const base = SIGNATURES[name]?.base;
  const own = [...argumentsOf(name).keys()].filter((argument) => takes(name, argument, versions) === true);
  return base === undefined ? own : [...own, ...allTaken(base, versions)];
}

/**
 * Arguments that calls of the libraries' own classes are refused for: dataclasses and constructors without `**kwargs` raise a
 * TypeError. A class counts where its name is imported from its library and the module defines none of that name.
 *
 * @param versions releases that a file or a pin says
 */
export function stoppingArguments(module: PythonModule, versions: Versions): readonly RefusedArgument[] {
  const replaced = replacesTrl(module) ? "trl" : undefined;
  return module.calls.flatMap((call) => {
    const className = lastName(call.callee);
    const signature = SIGNATURES[className]?.library === replaced ? undefined : SIGNATURES[className];
    if (signature === undefined || !isOf(signature.library, call.callee, module)) return [];
    return call.keywords.entries.flatMap((argument): RefusedArgument[] => {
      if (argument.open === true || takes(className, argument.key, versions) !== false) return [];
      const having = librariesWith(className, argument.key);
      // A condition that is not known may ask for a release that has it.
      const depends = having.length > 0 && (call.guards ?? []).length > 0;
      if (depends || having.some((owner) => versions[owner] === undefined)) return [];
      const library = having[0] ?? signature.library;
      const version = versions[library];
      const near = nearest(argument.key, allTaken(className, versions));
      return [
        {
          ...{ argument, className, library },
          ...(version === undefined ? {} : { version }),
          ...(near === undefined ? {} : { near }),
        },
      ];
    });
  });
}

/** Classes whose fields a command of TRL's scripts takes, by the name of the script or of the `trl` command. */
const TRL_CONFIGS: readonly (readonly [RegExp, string])[] = [
  [/online_dpo/, "OnlineDPOConfig"],
  [/\bsft|_sft/, "SFTConfig"],
  [/dpo/, "DPOConfig"],
  [/orpo/, "ORPOConfig"],
  [/kto/, "KTOConfig"],
  [/cpo/, "CPOConfig"],
  [/grpo/, "GRPOConfig"],
  [/rloo/, "RLOOConfig"],
  [/reward/, "RewardConfig"],
  [/gkd/, "GKDConfig"],
  [/ppo/, "PPOConfig"],
];

/** TRL's command and its scripts, wherever they stand (trl/scripts, trl/examples/scripts). */
const TRL_PROGRAM = /(?:^|[\s/])trl\s{1,9}[a-z]|\btrl[./]scripts[./]|(?:^|[\s/])examples\/scripts\//;

/** Fields of TrainingArguments that scripts with options of their own call so, too (transformers' and diffusers' without a trainer). */
const COMMON: ReadonlySet<string> = new Set(
  (
    "output_dir seed learning_rate weight_decay max_grad_norm adam_beta1 adam_beta2 adam_epsilon bf16 fp16 optim " +
    "per_device_train_batch_size per_device_eval_batch_size gradient_accumulation_steps gradient_checkpointing " +
    "num_train_epochs max_steps lr_scheduler_type warmup_steps warmup_ratio logging_dir logging_steps save_steps " +
    "eval_steps report_to run_name push_to_hub hub_model_id hub_token resume_from_checkpoint local_rank deepspeed " +
    "do_train do_eval do_predict overwrite_output_dir dataloader_num_workers debug tf32 fsdp"
  ).split(" "),
);
/** So many fields that nobody else has say that a program takes them all. */
const ENOUGH = 2;

/** Classes whose fields a program takes that is not here, by its name and by what its command passes. */
export function classesByCommand(words: readonly string[], stated: readonly string[]): readonly string[] {
  const text = words.slice(0, 12).join(" ");
  const config = TRL_PROGRAM.test(text) ? TRL_CONFIGS.find(([pattern]) => pattern.test(text)) : undefined;
  if (config !== undefined) return ["ModelConfig", config[1]];
  const fields = argumentsOf("TrainingArguments");
  const own = stated.filter((option) => !COMMON.has(option) && fields.has(option));
  return isExample(words) || new Set(own).size >= ENOUGH ? ["TrainingArguments"] : [];
}
