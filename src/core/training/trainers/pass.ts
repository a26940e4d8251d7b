/**
 * One pass of a trainer whose loss calls several forwards: the loss's own graph, with the models it calls run on their
 * captured graphs. Sources: trl/trainer/{dpo,kto,reward,grpo,rloo}_trainer.py, trl/trainer/utils.py (add_fused_lm_head),
 * trl/experimental/ppo/ppo_trainer.py.
 */

import { say } from "../../../words/message";
import { ELEMENT_BYTES } from "../../engine/dtype";
import { type Folding, leftOut } from "../../engine/folding/plan";
import { Interpreter } from "../../engine/interpreter";
import type { AttentionCache, InterpreterOptions, ModuleForward } from "../../engine/interpreter/options";
import { NotModelled } from "../../engine/not-modelled";
import { isTensor } from "../../engine/ops/arithmetic";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { Scope } from "../../graph/expression";
import type { ArchitectureGraph, TrainerGraph } from "../../graph/types";
import { toFloat32 } from "../outputs";
import type { ForwardUsage } from "../parallel";

/** What a micro-batch runs: a model's own graph, or a trainer's loss around several. */
export interface Pass {
  /** What the last `main` left out, per repeat. */
  readonly foldings: readonly Folding[];
  /** The loss first; outputs are owned by the caller. */
  main(batch: readonly Tensor[]): Tensor[];
  /** The forwards enter and leave autocast themselves. */
  readonly ownsAutocast?: true;
  /** What `main` gives after the loss is named through the backward, which runs inside the same function. */
  readonly holdsOutputs?: boolean;
  /** What the loop's names hold behind the gradients of the last `main`, handed over to the caller. */
  readonly left?: () => readonly (readonly [name: string, tensor: Tensor])[];
  /** Names that the loop binds anew only behind the gradients. */
  readonly bindsLate?: ReadonlySet<string>;
  /** Keys and values that the outputs of the last `main` keep, handed over to the caller. */
  readonly keptCache?: () => readonly Tensor[];
}

/** Keys and values that the outputs of one forward keep. */
export interface OutputCache extends AttentionCache {
  release(): void;
}

/** One of the models a loss calls. */
export interface CalledModel {
  /** Its graph as far as it is called, with logits of the last `kept` tokens (0: all). */
  readonly graphOf: (kept: number) => ArchitectureGraph;
  readonly options: InterpreterOptions;
  /** Whether it gives logits, which leave autocast as float32; else hidden states. */
  readonly whole: boolean;
  /** In evaluation mode, as a copy that is never trained. */
  readonly evaluates: boolean;
  /**
   * It is asked for the states between its layers, which go when its forward returns (`inside` a wrapper), or with its
   * outputs, as its cache does then: converted by the loop (`given`), or as its forward returns (`returned`).
   */
  readonly states?: "inside" | "given" | "returned";
  /** Keys and values that its outputs keep, where `use_cache` is on: made for each forward. */
  readonly cache?: () => OutputCache;
  /** What gathers its own shards, where it is sharded apart from the trained one. */
  readonly usage?: ForwardUsage | null;
  /** Weights and biases of the heads that the loss takes itself, by their path below the model. */
  readonly heads: Readonly<Record<string, Tensor | null>>;
}

/** Models by the name the loss gives them. */
export type CalledModels = Readonly<Record<string, CalledModel | null>>;

/** Which arguments after the ids say how many tokens' logits are asked for, and the labels (capture/trainers/losses.py, Whole). */
const KEPT_TOKENS = 1;
const LABELS = 2;

/** The part of a model a call runs: its backbone, all of it, or what a classifier has before its head. */
const CALLS = ["", ".base_model", ".model.states"] as const;

/** All of a model whose outputs nothing converts: loops that do not go through accelerate. */
const RAW = ".raw";

/** The call that stands for what accelerate makes of a model's outputs (capture/trainers/trl_ppo.py, Outputs). */
const OUTPUTS = "outputs";

/** What lives as long as the output that was given with it. */
class Along {
  /** @param missing states of layers that were left out, like that of a layer in the middle */
  constructor(
    readonly states: readonly Tensor[],
    readonly missing: number,
    readonly cache: OutputCache | undefined,
  ) {}

  release(): void {
    for (const state of this.states) state.release();
    this.cache?.release();
  }
}

export class TrainerPass implements Pass {
  readonly ownsAutocast = true;
  readonly holdsOutputs: boolean;
  foldings: Folding[] = [];
  private readonly loss: Interpreter;
  /** What a call gave beside its first output: a name of the loss holds it until that returns. */
  private held: { release(): void }[] = [];
  private readonly repeats = { count: 0 };
  /** Tensors of the batch that the loss takes itself. */
  private readonly own: number;
  private handed: ReadonlyMap<string, Tensor | null> = new Map();

  constructor(
    private readonly torch: Torch,
    graph: TrainerGraph,
    { scope, expressions }: Pick<InterpreterOptions, "scope" | "expressions">,
    models: CalledModels,
    /** Names of what the batch has behind the loss's own tensors, for its models alone. */
    private readonly media: readonly string[] = [],
  ) {
    this.own = graph.batch.length;
    this.holdsOutputs = graph.main.outputs.length > 1;
    const modules = new Map<string, ModuleForward>([[OUTPUTS, (torch, output) => this.prepared(torch, output)]]);
    const parameters = new Map<string, Tensor>();
    for (const [name, model] of Object.entries(models)) {
      if (model === null) continue;
      for (const call of CALLS) modules.set(`${name}${call}`, this.forwardOf(model, true));
      modules.set(`${name}${RAW}`, this.forwardOf(model, false));
      for (const [path, tensor] of Object.entries(model.heads))
        if (tensor !== null) parameters.set(`${name}.${path}`, tensor);
    }
    this.loss = new Interpreter(torch, lossGraph(graph), {
      scope,
      expressions,
      layerKind: () => null,
      parameters,
      modules,
      loadDtype: "float32",
      checkpointing: null,
      layerSignature: null,
      head: null,
    });
  }

  main(batch: readonly Tensor[]): Tensor[] {
    this.foldings = [];
    this.repeats.count = 0;
    this.torch.logits = true;
    this.handed = new Map(this.media.map((name, k) => [name, batch[this.own + k] ?? null]));
    const outputs = this.loss.main(batch.slice(0, this.own));
    for (const held of this.held.splice(0)) held.release();
    return outputs;
  }

  /** Runs a model on `input_ids`; what the loss alone took of its batch (labels) is not there. */
  private forwardOf(model: CalledModel, converts: boolean): ModuleForward {
    return (torch, ids, rest) => {
      const kept = model.whole ? rest?.[KEPT_TOKENS] : 0;
      const graph = model.graphOf(typeof kept === "number" ? kept : 0);
      const cache = model.cache?.();
      const states: Tensor[] = [];
      const positions = model.states === "given" ? rest?.findLast(isTensor) : undefined;
      const interpreter = new Interpreter(this.torch, graph, {
        ...model.options,
        scope: atRows(model.options.scope, ids.size(0)),
        repeats: this.repeats,
        ...(cache === undefined ? {} : { cache }),
        ...(model.states === undefined ? {} : { hiddenStates: states }),
        ...(positions === undefined ? {} : { positions }),
      });
      const { scope, training, usage, watcher } = torch;
      if (model.usage) {
        torch.usage = model.usage;
        // Its modules are its own.
        torch.watch(null);
        model.usage.beginPass(torch);
      }
      torch.logits = false;
      if (model.evaluates) torch.training = false;
      const labels = rest?.[LABELS];
      const named: Readonly<Record<string, Tensor | null>> = {
        input_ids: ids,
        labels: isTensor(labels) && positions === undefined ? labels : null,
      };
      const inputs = graph.main.inputs.map((name) => named[name] ?? this.handed.get(name) ?? null);
      let outputs = interpreter.main(inputs);
      this.foldings.push(...interpreter.foldings);
      if (model.states === "inside") for (const state of states) state.release();
      if (model.whole && torch.autocasting && model.states !== "given") {
        torch.autocastEnabled = false;
        torch.clearCastCache();
        if (converts && model.states !== "returned") outputs = toFloat32(torch, outputs);
      }
      let [output, ...others] = outputs;
      if (output === undefined) throw new NotModelled(say("engine.no-output"));
      // A value head's loss is the caller's name; states of pictures go with the outputs that name them.
      if (model.states === "inside") {
        this.held.push(...others.splice(0, 1));
        for (const other of others.splice(0)) other.release();
      } else if (others.length > 0) output.along = new Along(others, 0, undefined);
      if (model.states === "given" || model.states === "returned") {
        // The last states are the output of a model without its head.
        if (!model.whole) states.pop()?.release();
        const missing = interpreter.foldings.reduce((sum, folding) => sum + leftOut(folding), 0);
        for (const other of others) other.release();
        output.along = new Along(states, missing, cache);
        if (model.states === "returned") {
          const converted = this.prepared(torch, output);
          output.release();
          output = converted;
        }
      } else if (cache !== undefined) output.along = new Along(others, 0, cache);
      model.usage?.endPass();
      torch.scope = scope;
      torch.training = training;
      torch.usage = usage;
      if (model.usage) torch.watch(watcher);
      torch.logits = true;
      return output;
    };
  }

  /** `convert_outputs_to_fp32` of logits and what was given with them; the ones before live until all are there. */
  private prepared(torch: Torch, output: Tensor): Tensor {
    const { along } = output;
    if (torch.autocastDtype === null || !(along instanceof Along)) return output.retain();
    output.along = null;
    // What folding repeats are the layers' own blocks: a copy that is made of each afterwards is made here.
    const middle = along.states[Math.floor(along.states.length / 2)];
    const copied = middle !== undefined && ELEMENT_BYTES[middle.dtype] < ELEMENT_BYTES.float32;
    const others = Array.from({ length: copied ? along.missing : 0 }, () =>
      torch.empty("_to_copy", middle!.sizes, "float32"),
    );
    const [wide, ...states] = toFloat32(torch, [output.retain(), ...along.states]);
    if (wide === undefined) throw new NotModelled(say("engine.no-output"));
    wide.along = new Along([...states, ...others], 0, along.cache);
    return wide;
  }
}

/** A model's sizes for as many sequences as a loss hands it at once. */
function atRows(scope: Scope, rows: number): Scope {
  return scope("B") === rows ? scope : (name) => (name === "B" ? rows : scope(name));
}

/** A loss as the interpreter takes it: a graph without parameters or layers of its own. */
function lossGraph({ main, batch }: TrainerGraph): ArchitectureGraph {
  return { task: "", attention: "", when: [], parameters: [], buffers: [], tied: [], batch, main, blocks: [] };
}
