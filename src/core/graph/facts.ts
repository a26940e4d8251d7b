/** What the libraries' code says of a family beside its graph, as it was captured. */
import { table } from "../../terms/table";
import captured from "./family-facts.json";

/** Modules at a model's ends (accelerate/utils/fsdp_utils.py, fsdp2_prepare_model). */
export interface ShardedEnds {
  /** Path of what `get_input_embeddings` answers: no table, or not the first one; absent: the model's first table. */
  readonly embedding?: string;
  /** Path of the last norm beside the base model's layers, which may have no weights; empty: accelerate finds none. */
  readonly norm: string;
}

/** A fact that is left out does not hold. */
export interface FamilyFacts {
  /** Tasks whose class switches `use_cache` off where labels are given (`forward` of the modeling file). */
  readonly cacheless?: readonly string[];
  /** Modules that stay in float32 where the model is loaded in float16, and are never packed (`_keep_in_fp32_modules`). */
  readonly keptInFloat32?: readonly string[];
  /** Quantized, it calls the projection that makes a scan's time steps, whose weight it multiplies by itself otherwise (`_is_quantized`). */
  readonly callsPackedProjections?: boolean;
  /** Positions count from behind the padding's id: the table's rows up to it are no token's. */
  readonly countsFromPadding?: boolean;
  /** Attention reads its rate of dropout from a module, which `disable_dropout_in_model` finds; the others read a number. */
  readonly dropoutFromModule?: boolean;
  /** The class without a head has a pooler (`add_pooling_layer`), which that of texts' classes has not. */
  readonly pools?: boolean;
  /** Experts' matrices have their inputs before their outputs (`is_transposed`). */
  readonly transposedExperts?: boolean;
  /** Classes of the repeated layers, by which FSDP wraps. */
  readonly layers?: readonly string[];
  /** Its class names no modules to be kept together (`_no_split_modules`), which accelerate wraps by where nothing says others. */
  readonly unsplit?: boolean;
  /** Paths of modules that FSDP wraps by their class (`_no_split_modules`) and that are no layers of the graph; `{i}` is a number. */
  readonly keptTogether?: readonly string[];
  /** Paths of layers that it does not wrap, being of no such class; `{i}` is a number. */
  readonly looseLayers?: readonly string[];
  /** Tasks whose class names modules to be kept together that the model has not got: accelerate has nothing to wrap and stops. */
  readonly lacksUnits?: readonly string[];
  /** Tasks whose class answers no `get_input_embeddings`. */
  readonly lacksEmbeddings?: readonly string[];
  /** Tasks whose input embeddings stand inside of a module that FSDP wraps. */
  readonly embedsInUnit?: readonly string[];
  /** By task, modules that accelerate's FSDP2 shards by themselves, where the weights' names do not tell them. */
  readonly ends?: Readonly<Record<string, ShardedEnds>>;
  /** `model_type` of the text side that AutoModelForCausalLM loads alone. */
  readonly textSide?: string;
  /** What the sides of pictures of any size are rounded to, where the config's file leaves it out: pixels of a patch, and patches a side that become one token. */
  readonly anySize?: { readonly patch: number; readonly merged: number };
  /** Positions of texts that are compared with pictures, where the config's file leaves them out. */
  readonly textPositions?: number;
  /** Its files hold a part that reads, sees and hears (`thinker_config`) beside parts that speak. */
  readonly speaks?: boolean;
  /** Experts' single matrices with the parameter that holds them now, by which peft converts targets. */
  readonly convertedExperts?: Readonly<Record<string, string>>;
}

const FAMILY_FACTS: Readonly<Record<string, FamilyFacts>> = table(captured.families);

const NONE: FamilyFacts = {};

/** Facts of a family; none of one that nobody asked. */
export function factsOf(family: string): FamilyFacts {
  return FAMILY_FACTS[family] ?? NONE;
}

/** Whether a family was asked at all. */
export function isKnownFamily(family: string): boolean {
  return FAMILY_FACTS[family] !== undefined;
}
