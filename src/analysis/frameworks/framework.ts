/** What a framework is asked: the traits of a row of `frameworks.ts`. */

import type { Float8Spec, FsdpSpec, ModelConfig, TrainerKind } from "../../core/training/run";
import type { SequencePlan } from "../../core/training/specs/parallel";
import type { SettingName } from "../../terms/settings";
import type { MessageId } from "../../words/message";
import type { FrameworkLibrary } from "./framework-versions";
import type { Settings } from "./settings";
import type { Versions } from "./versions";

/** The captured code of a framework for a model: a file of `models/graphs`, and the config that its expressions are read with. */
export interface OwnCode {
  readonly code: string;
  readonly config: ModelConfig;
}

/** A trainer as frameworks name it: whose class it is, and the loss where the name says it. */
export interface Flavour {
  readonly kind: TrainerKind;
  readonly loss?: string;
  /** The likelihood of what was chosen is no part of it. */
  readonly unlikely?: true;
}

/** A term of DPO's loss beside the comparison. */
export type LossTerm = "likelihood" | "weighting";

/** What was recorded of a release's losses. */
export interface RecordedLosses {
  /** Of `models/trainers`. */
  readonly file: string;
  /** The release it was recorded from. */
  readonly release: string;
  /** Not every loss that a trainer has, but those that stand for the others. */
  readonly some?: true;
  /** Further terms of DPO's loss, which read whole logits. */
  readonly terms?: readonly LossTerm[];
  /** A reward model runs once for what was chosen and once for what was rejected. */
  readonly apart?: true;
}

/** Captured losses of trainers. */
export interface LossSource extends RecordedLosses {
  /** Of other code than the run's, with the same models and much the same logits: this name's stands for it. */
  readonly standsFor?: string;
  /** Written down from the source of a framework that was read, not run. */
  readonly kernels?: string;
  /** Written down from the source of the framework's own loop: every token of a sequence is scored, whatever it is. */
  readonly fromSource?: true;
  /** Liger's fused loss is the run's: one that never holds all logits either stands for it. */
  readonly forLiger?: true;
}

export type Flavours = Readonly<Record<string, Flavour>>;

/** Parts of FSDP that a framework decides. */
export type OwnFsdp = Partial<
  Omit<FsdpSpec, "sharding" | "cpuOffload" | "reshardAfterForward" | "replicas" | "inPipeline">
>;

export interface Framework {
  /** Name to show. */
  readonly name: string;
  /**
   * The Hugging Face Trainer carries its runs out: its defaults fill what they leave open. `plain`: the Trainer itself; `named`: one of
   * several trainers on top of it, which the class or the command that is called names; `within`: one that the framework makes.
   */
  readonly trainer?: "plain" | "named" | "within";
  /** DDP looks for parameters without gradients never, or where no adapters are on; absent: as the Trainer has it. */
  readonly findsUnused?: "never" | "without-adapters";
  /** Scripts of people's own train by it: what these call tells which of such frameworks it is, and a command of theirs tells nothing. */
  readonly scripts?: true;
  /** Its files are settings that other files' runs use, named by them: of DeepSpeed's engine, or of Accelerate's launcher. */
  readonly part?: "engine" | "launcher";
  /** Why its runs are read only. */
  readonly readOnly?: MessageId;
  /** Its own loop and, unless `trainsTransformers` says so, its own model code. */
  readonly ownCode?: true;
  /** Whether the captured graph is of the very code that trains (transformers', or the library's own), and nothing stands in. */
  readonly trainsTransformers?: (settings: Settings) => boolean;
  /**
   * Its own code for models of a config, captured from it: the graphs' name, and the config with what its builders do otherwise.
   * Undefined: what it makes of such a config was not captured.
   */
  readonly codeOf?: (config: ModelConfig, settings: Settings) => OwnCode | undefined;
  /** Its own code's experts are linear layers, which whatever packs or adapts linear layers finds. */
  readonly layersOfExperts?: (settings: Settings) => boolean;
  /** The catalogue's name of a model that its files name, where the library has networks of its own. */
  readonly modelNamed?: (written: string) => string;
  /** Networks follow from its plans. */
  readonly plans?: true;
  /** Its scripts train the denoiser of a pipeline. */
  readonly denoises?: true;
  /** Its configs are put together by Hydra from files of groups. */
  readonly hydra?: true;
  /** The package that reads its files: where nothing pins it, its newest release is meant, with what that requires. */
  readonly package?: FrameworkLibrary;

  /** How it shards on several GPUs when nothing says otherwise. */
  readonly shards?: FsdpSpec["sharding"];
  /** What its own FSDP does otherwise than the Trainer's. */
  readonly fsdp?: OwnFsdp;
  /** … where that is a matter of the run and of the release. */
  readonly fsdpOf?: (settings: Settings, libraries: Versions) => OwnFsdp;
  /** Its tensor parallelism always splits the residual stream along the sequence. */
  readonly sequenceParallel?: true;
  /** … around these matrices. */
  readonly sequencePlan?: SequencePlan;
  /** … and its loss is torch's `loss_parallel`. */
  readonly splitsLogits?: true;
  /** Context parallelism is torch's own; keys and values go around like this where nothing says how. */
  readonly contextRotation?: "allgather";
  /** DeepSpeed's engine carries every run out, whatever the ZeRO stage. */
  readonly deepspeed?: true;
  /** Half-precision parameters with a float32 copy and one gradient buffer; sharded from ZeRO stage 1 on. */
  readonly mainParameters?: (settings: Settings) => boolean;

  /** Its data are cut into sequences of full length. */
  readonly fillsSequences?: true;
  /** Releases whose first batch has the longest sample of all: what its loop names of a batch before is never beside it. */
  readonly longestFirst?: string;
  /** Releases whose loop puts the whole model into training by itself. */
  readonly setsTraining?: string;
  /** Lengths of batches are rounded up to it. */
  readonly padsTo?: number;
  /** How packed samples are kept apart: by the attention kernel alone; otherwise they are anyway. */
  readonly packs?: (settings: Settings) => "by-kernel" | "apart";
  /** Pictures are read only where a processor is named. */
  readonly namesProcessor?: true;
  /** A validation set alone makes it evaluate. */
  readonly evaluatesValidation?: true;
  /** Text is sampled, not the most likely token taken, where evaluation generates. */
  readonly samples?: true;

  /** `auto` precision is bfloat16 on every card that has it. */
  readonly autoIsBfloat16?: true;
  /** Which library makes products in 8 bits when nothing is said, and what it leaves out; others are run by accelerate. */
  readonly float8?: Pick<Float8Spec, "backend" | "keeps" | "cachesWeights">;
  /** Every nth layer that is checkpointed is counted from 1. */
  readonly countsLayersFromOne?: true;
  /** Checkpoints selectively unless told otherwise: what it recomputes nevertheless, by the model's code. */
  readonly checkpointsSelectively?: (code: string | undefined) => readonly string[];
  /** Full recomputation has to say which layers. */
  readonly recomputesByMethod?: true;
  /** Its switch sends every saved activation to the host (OffloadActivations): each tensor, or each storage once. */
  readonly offloadsAll?: "each" | "once";
  /** Compiles each layer for itself. */
  readonly compilesLayers?: true;

  /** Packs stacked experts by a parametrization that unpacks them whole, unless kernels of its own run them. */
  readonly parametrizesExperts?: true;
  /** Tells `lora` and `qlora` apart by name. */
  readonly namesQlora?: true;
  /** The model is loaded where it is trained, before the adapter is put on. */
  readonly loadsOnDevice?: true;
  /** Lists of modules are text with commas; elsewhere a text is a pattern (peft/tuners/tuners_utils.py). */
  readonly splitsNames?: true;

  /** Preference trainers whose loss is captured, by its names for them. */
  readonly flavours?: Flavours;
  /** They run the same losses as TRL's trainers, or losses of its own that TRL's stand for. */
  readonly losses?: "same" | "alike";
  /** Their losses were recorded of its own code. */
  readonly recorded?: LossSource;
  /** What its one trainer of reinforcement learning is called, which settings tell, no name. */
  readonly reinforces?: string;
  /** Engines that it trains with and that are followed, as its `strategy` names them. */
  readonly strategies?: readonly string[];
  /** Model types that it hands to Liger; absent: all that Liger knows. */
  readonly ligerFamilies?: ReadonlySet<string>;
  /** Keys it does not know are dropped; others stop at them. */
  readonly dropsUnknown?: true;
  /** A file that merges, exports, evaluates or generates instead of training. */
  readonly exports?: RegExp;
  /** Text of the DeepSpeed config that its own examples have at a path, for configs that stand without them. */
  readonly exampleDeepspeed?: (path: string) => string | undefined;
  /** What it stops at instead of running it: a setting, the value, and why. */
  readonly refuses?: readonly { readonly setting: SettingName; readonly value: string; readonly why: MessageId }[];
  /** Preference trainers take the defaults of TRL's own config classes. */
  readonly trlDefaults?: true;
  /** The preference loss has a key of its own. */
  readonly prefLoss?: true;
  /** A trainer it has under the name of one that is followed elsewhere, and why it is not. */
  readonly unlike?: Readonly<Record<string, MessageId>>;
  /** Weights go to vLLM in batches of layers, all at once unless told otherwise; absent: as TRL sends them. */
  readonly sendsBatches?: true;
  /** vLLM is told the config's share only with a mode. */
  readonly vllmShareNeedsMode?: true;
}
