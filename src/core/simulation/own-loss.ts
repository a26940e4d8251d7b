/** Passes of a loss that a script writes itself, around the models that it calls. */
import type { LossStatement, OwnLoss } from "../../terms/own-loss";
import type { Fold, Folding } from "../engine/folding/plan";
import { Interpreter } from "../engine/interpreter";
import type { AttentionCache, InterpreterOptions } from "../engine/interpreter/options";
import { isTensor } from "../engine/ops/arithmetic";
import type { Tensor } from "../engine/tensor";
import type { Torch } from "../engine/torch";
import { BODY_OUTPUTS } from "../graph/body";
import type { ArchitectureGraph } from "../graph/types";
import type { PassFactory } from "../training/forward";
import { toFloat32 } from "../training/outputs";
import { type CalledByLoss, type OwnLossRun, runOwnLoss } from "../training/own-loss/evaluate";
import { Inputs, NotFollowed, Outputs, type Value } from "../training/own-loss/values";
import type { TrainingRun } from "../training/run";
import { type RunnableModel, untilLogits } from "../training/trainers";
import { KeptCache } from "../training/trainers/kept-cache";
import type { InterpreterFactory } from "./generation";
import type { Program } from "./program";

/** The models of a run as such a loss calls them. */
export interface LossModels {
  /** The trained model on so many times the batch's samples, or on texts of another length; null: it cannot be run on them. */
  readonly programAt: (times: number, length?: number) => Program | null;
  /** Heads of keys and values. */
  readonly heads: number;
  /** Whether accelerate wraps the trained model's forward: a loop of one's own casts where it says so. */
  readonly wraps: boolean;
  /** A module of the script's own stands around the model. */
  readonly holds: boolean;
  /** A weight by its name. */
  readonly weight: (name: string) => Tensor | undefined;
  /** The trained model is its body alone. */
  readonly body: boolean;
  readonly keepsCache: TrainingRun["keepsCache"];
  readonly interpretersOf: (
    program: Program,
    cache: AttentionCache | undefined,
    more: Partial<InterpreterOptions>,
  ) => InterpreterFactory;
  /** A model beside the trained one, and whether its outputs keep keys and values (decoders, whose `use_cache` nothing switches off). */
  readonly other: (RunnableModel & { readonly caches: boolean }) | null;
}

type Batch = ReadonlyMap<string, Tensor>;

/** Counted by the Trainer for the model's own loss. */
const COUNT = "num_items_in_batch";
const LABELS = "labels";
/** The mask of a batch without padding, which graphs have no input for. */
const MASK = "attention_mask";
const TEXT = "input_ids";

/** @param asksOutputs whether what the model gave stands behind the loss */
export function ownLossPasses(torch: Torch, loss: OwnLoss, models: LossModels, asksOutputs: boolean): PassFactory {
  const names = models.programAt(1)?.graph.batch.map(({ name }) => name) ?? [];
  return (way) => {
    const calls = new Calls(torch, models, way);
    let last: OwnLossRun | null = null;
    const keeps = loss.keepsNames === true;
    return {
      ...(keeps ? { left: () => last?.left?.() ?? [], bindsLate: namesBound(loss.behind ?? []) } : {}),
      foldings: calls.foldings,
      main: (tensors) => {
        torch.autocastEnabled = false;
        const batch = new Map(
          names.flatMap((name, k) => (tensors[k] === undefined ? [] : [[name, tensors[k]] as const])),
        );
        const given = new Map([...batch].filter(([name]) => name !== COUNT));
        const text = given.get(TEXT);
        if (text !== undefined && !given.has(MASK)) given.set(MASK, text);
        last = runOwnLoss(torch, loss, given, calls.of(batch), asksOutputs);
        return last.results;
      },
    };
  };
}

/** Names that statements bind. */
function namesBound(statements: readonly LossStatement[]): ReadonlySet<string> {
  return new Set(
    statements.flatMap((one) => ("names" in one ? one.names : "inside" in one ? [...namesBound(one.body)] : [])),
  );
}

/** What the loss calls in one micro-batch after another. */
class Calls {
  readonly foldings: Folding[] = [];
  private readonly repeats = { count: 0 };

  constructor(
    private readonly torch: Torch,
    private readonly models: LossModels,
    private readonly way: Fold,
  ) {}

  of(batch: Batch): CalledByLoss {
    this.foldings.length = 0;
    this.repeats.count = 0;
    return {
      model: (inputs, options) => this.trained(inputs, options, batch),
      other: this.models.other === null ? null : (inputs, options) => this.beside(inputs, options, batch),
      weight: (name) => this.models.weight(name),
      wrapped: (run) => this.wrapped(run),
      inputs: [[...batch.keys()].find((name) => name !== LABELS && name !== COUNT) ?? TEXT, MASK],
    };
  }

  /** The trained model, as accelerate wraps its forward. */
  private trained(inputs: Inputs, options: ReadonlyMap<string, Value>, batch: Batch): Outputs {
    const { torch, models } = this;
    const { times, length } = sizesOf(inputs, batch);
    const program = models.programAt(times, length);
    const labelled = inputs.tensors.has(LABELS);
    const graph = program && this.callable(program.graph, labelled);
    const states = statesOf(options);
    const { keepsCache } = models;
    const cache = keepsCache === undefined ? undefined : new KeptCache(models.heads, keepsCache !== "as-made");
    const more = { repeats: this.repeats, ...(states === undefined ? {} : { hiddenStates: states }) };
    if (program === null || graph === null) throw new NotFollowed();
    // States of every layer are there only where every layer is run.
    const interpreter = models.interpretersOf(
      { ...program, graph },
      cache,
      more,
    )(states === undefined ? this.way : "none");
    const wraps = models.wraps && !models.holds;
    if (wraps) torch.autocastEnabled = torch.autocastDtype !== null;
    const made = interpreter.main(givenTo(graph, inputs, batch));
    this.foldings.push(...interpreter.foldings);
    let outputs = [...made, ...(states ?? []), ...(cache?.take() ?? [])];
    if (wraps && torch.autocasting) {
      torch.autocastEnabled = false;
      torch.clearCastCache();
      outputs = toFloat32(torch, outputs);
    }
    torch.logits = true;
    const own = models.body ? BODY_OUTPUTS : labelled ? LABELLED : UNLABELLED;
    return partsOf(outputs, own, made.length, states?.length ?? 0);
  }

  /** A module of the script's own, as accelerate wraps its forward. */
  private wrapped(run: () => Value): Value {
    const { torch, models } = this;
    if (!models.wraps || torch.autocastDtype === null) return run();
    torch.autocastEnabled = true;
    const made = run();
    torch.autocastEnabled = false;
    torch.clearCastCache();
    return inFloat32(torch, made);
  }

  /** A body is called as it is, and takes no labels. */
  private callable(graph: ArchitectureGraph, labelled: boolean): ArchitectureGraph | null {
    return this.models.body ? (labelled ? null : graph) : callable(graph, labelled);
  }

  /** A model that nothing wraps and nothing trains. */
  private beside(inputs: Inputs, asked: ReadonlyMap<string, Value>, batch: Batch): Outputs {
    const { torch } = this;
    const { other } = this.models;
    const labelled = inputs.tensors.has(LABELS);
    const graph = other && callable(other.graph, labelled);
    if (other === null || graph === null || !isWhole(sizesOf(inputs, batch))) throw new NotFollowed();
    const { training } = torch;
    torch.training = false;
    const { byName: parameters, modules } = other.model;
    const cache = other.caches ? new KeptCache(other.heads) : undefined;
    const states = statesOf(asked);
    const given = { ...(cache && { cache }), ...(states && { hiddenStates: states }) };
    const options = { ...other.options, parameters, modules, checkpointing: null, ...given };
    const made = new Interpreter(torch, graph, options).main(givenTo(graph, inputs, batch));
    torch.training = training;
    torch.logits = true;
    const outputs = [...made, ...(states ?? []), ...(cache?.take() ?? [])];
    return partsOf(outputs, labelled ? LABELLED : UNLABELLED, made.length, states?.length ?? 0);
  }
}

/** Tensors of what a module gives in float32 (accelerate/utils/operations.py, `convert_to_fp32`). */
function inFloat32(torch: Torch, value: Value): Value {
  const converted = (tensor: Tensor): Tensor => toFloat32(torch, [tensor])[0] as Tensor;
  if (isTensor(value)) return converted(value);
  if (value instanceof Outputs)
    return new Outputs(new Map([...value.parts].map(([name, one]) => [name, converted(one)])), value.states);
  if (value instanceof Inputs && value.owned)
    return new Inputs(new Map([...value.tensors].map(([name, one]) => [name, converted(one)])), true);
  return Array.isArray(value) ? value.map((one) => inFloat32(torch, one as Value)) : value;
}

/** Where the states between the layers go that a call asks for. */
function statesOf(options: ReadonlyMap<string, Value>): Tensor[] | undefined {
  return options.get("output_hidden_states") === true ? [] : undefined;
}

/** The graph as it is called with labels, or without; null: its logits cannot be told from its loss. */
function callable(graph: ArchitectureGraph, labelled: boolean): ArchitectureGraph | null {
  return labelled ? graph : untilLogits(graph, null);
}

/** What a loss gives a model of a batch. */
interface GivenSizes {
  /** How many times the batch's samples. */
  readonly times: number;
  /** Tokens, where they are not the batch's. */
  readonly length?: number;
}

const isWhole = ({ times, length }: GivenSizes): boolean => times === 1 && length === undefined;

function sizesOf({ tensors }: Inputs, batch: Batch): GivenSizes {
  const times = new Set<number>();
  const lengths = new Set<number | undefined>();
  for (const [name, tensor] of tensors) {
    const own = batch.get(name);
    if (own === undefined) continue;
    const same = String(own.sizes.slice(1)) === String(tensor.sizes.slice(1));
    if (!same && (own.rank !== 2 || tensor.rank !== 2)) throw new NotFollowed();
    times.add(tensor.size(0) / own.size(0));
    if (tensor.rank === 2) lengths.add(same ? undefined : tensor.size(1));
  }
  const [only = 1, ...others] = times;
  const [length, ...more] = lengths;
  if (others.length + more.length > 0 || !Number.isInteger(only)) throw new NotFollowed();
  return { times: only, ...(length === undefined ? {} : { length }) };
}

/** What a graph reads of what the loss gives a model. */
function givenTo({ main }: ArchitectureGraph, { tensors }: Inputs, batch: Batch): (Tensor | null)[] {
  return main.inputs.map((name) => tensors.get(name) ?? (name === COUNT ? (batch.get(name) ?? null) : null));
}

const LABELLED = ["loss", "logits"];
const UNLABELLED = ["logits"];

/** Outputs by the names that a model's class gives them. */
function partsOf(outputs: readonly Tensor[], own: readonly string[], count: number, states: number): Outputs {
  const named = (k: number): string => (k < count ? (own[k] ?? `other.${k}`) : `cache.${k}`);
  const parts = outputs.flatMap((tensor, k) => (k < count || k >= count + states ? [[named(k), tensor] as const] : []));
  return new Outputs(new Map(parts), outputs.slice(count, count + states));
}
