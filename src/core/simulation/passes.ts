/** What a micro-batch of a run calls: the model, or a trainer's loss around it and the models beside it. */
import type { Fold } from "../engine/folding/plan";
import { Interpreter } from "../engine/interpreter";
import type { AttentionCache, InterpreterOptions, Wrapper } from "../engine/interpreter/options";
import { LAYERS_TO_SETTLE } from "../engine/offload";
import type { Tensor } from "../engine/tensor";
import type { Torch } from "../engine/torch";
import { hiddenSize, type RunSizes } from "../graph/config";
import type { Scope } from "../graph/expression";
import { factsOf } from "../graph/facts";
import type { TrainerGraph } from "../graph/types";
import { standsApart } from "../training/adapters/prefix";
import { promptSizes } from "../training/adapters/prompt-sizes";
import { wrapperOf } from "../training/adapters/wrapper";
import type { PassFactory } from "../training/forward";
import { layerSignatures } from "../training/layers";
import type { LoadedModel } from "../training/loaded-model";
import { toFloat32 } from "../training/outputs";
import type { Strategy } from "../training/parallel";
import type { Task, TrainingRun } from "../training/run";
import { smoothedPasses, smooths } from "../training/smoothing";
import { isOnline, lossScope, mediaOf, type RunnableModel, type TrainerParts, trainerPass } from "../training/trainers";
import { KeptCache } from "../training/trainers/kept-cache";
import type { Pass } from "../training/trainers/pass";
import { cacheOf, type InterpreterFactory } from "./generation";
import type { Models } from "./models";
import { ownLossPasses } from "./own-loss";
import { type Program, programOf } from "./program";
import type { Setup } from "./setup";

/** Traced code is checkpointed by tags on its operators, whichever kind was asked for (torch/_dynamo/variables/higher_order_ops.py). */
function checkpointingOf({ compiled, checkpointing }: TrainingRun): InterpreterOptions["checkpointing"] {
  return compiled && checkpointing !== null ? { ...checkpointing, useReentrant: false } : checkpointing;
}

/**
 * Tasks whose outputs name no keys and values: those go when the model's forward returns (transformers/modeling_outputs.py,
 * `TokenClassifierOutput`, `QuestionAnsweringModelOutput`).
 */
const WITHOUT_CACHE: ReadonlySet<Task> = new Set(["token-cls", "qa"]);

export class Passes {
  /** Rows of the output head. */
  readonly vocabulary: number;
  /** Elements of a token's state. */
  readonly hidden: number;
  private readonly wrapper: Wrapper | null;
  /** Equal for layers that are alike in parameters and in what the strategy does with them; null where none may be left out. */
  private readonly signature: ((index: number) => string) | null;

  /** @param fold whether layers may be left out */
  constructor(
    private readonly torch: Torch,
    private readonly setup: Setup,
    private readonly models: Models,
    private readonly strategy: Strategy,
    private readonly fold: boolean,
  ) {
    const { run, program, keepsStates } = setup;
    const { model, loadDtype } = models;
    this.wrapper = wrapperOf(run, model, loadDtype, promptSizes(program.view.scope, run.task));
    this.vocabulary = model.byName.get(`${program.head}.weight`)?.size(0) ?? 0;
    this.hidden = hiddenSize(run.model.config) ?? 0;
    const parameters = layerSignatures(model.parameters);
    // The term of the loss that AdaLoRA adds reaches into every layer, and so does a prefix.
    const foldable = fold && !keepsStates && model.regularised.length === 0 && this.wrapper?.cache === undefined;
    this.signature = foldable ? (index) => `${parameters(index)} ${strategy.layerSignature?.(index) ?? ""}` : null;
  }

  /** What the names of the trainer's loss stand for; null without a trainer. */
  scopeOf(samples: number, sequence: number): Scope | null {
    const { spec } = this.setup;
    return spec === null ? null : lossScope(spec, samples, sequence, this);
  }

  /** How the trained model is interpreted. */
  private optionsOf({ view }: Pick<Program, "view">, way: Fold): InterpreterOptions {
    const { run, program } = this.setup;
    const { model, loadDtype } = this.models;
    const { hooks } = this.strategy;
    return {
      ...(hooks === undefined ? {} : { hooks }),
      scope: view.scope,
      expressions: view.expressions,
      layerKind: (index: number) => view.layerKind(index),
      parameters: model.byName,
      modules: model.modules,
      ...(model.settling?.isPending ? { settling: model.settling } : {}),
      ...(model.parametrized.size > 0 ? { parametrized: model.parametrized } : {}),
      loadDtype,
      ...(factsOf(run.model.family).dropoutFromModule === true ? { attentionDropoutModule: true } : {}),
      checkpointing: checkpointingOf(run),
      ...(run.tellsInputs === undefined ? {} : { tellsInputs: run.tellsInputs }),
      tellsTextsAlone: run.tellsTextsAlone === true,
      ...(run.tellsModules === undefined ? {} : { tellsModules: new Set(run.tellsModules) }),
      adapted: run.adapter !== null,
      layerSignature: way === "none" ? null : this.signature,
      fold: way,
      ...(run.offloadsActivations ? { layersToSettle: LAYERS_TO_SETTLE } : {}),
      head: program.head,
    };
  }

  /** Makes interpreters of the trained model at other sizes. */
  interpretersOf(program: Program, cache?: AttentionCache, more: Partial<InterpreterOptions> = {}): InterpreterFactory {
    const { torch, wrapper } = this;
    return (way) =>
      new Interpreter(torch, program.graph, {
        ...this.optionsOf(program, way),
        ...more,
        ...(cache === undefined ? {} : { cache }),
        ...(wrapper === null ? {} : { wrapper }),
      });
  }

  /** Passes whose loss is made of smoothed labels; null where it is the model's own. */
  private smoothed(program: Program, cache?: KeptCache): PassFactory | null {
    const { run } = this.setup;
    if (!smooths(run)) return null;
    const { view } = program;
    const interpreterOf = (graph: Program["graph"]) => this.interpretersOf({ ...program, graph }, cache);
    return smoothedPasses(
      this.torch,
      program.graph,
      { scope: view.scope, expressions: view.expressions },
      interpreterOf,
      () => {
        if (WITHOUT_CACHE.has(run.task)) cache?.release();
        return run.handsOutCache === true ? (cache?.take() ?? []) : [];
      },
    );
  }

  /** Interpreters whose outputs keep keys and values of every layer, as tuples of the outputs or in an object beside them. */
  private caching(program: Program, keepsCache: TrainingRun["keepsCache"]): PassFactory {
    const heads = Number(program.view.scope("num_key_value_heads") ?? 0);
    const { handsOutCache, task } = this.setup.run;
    return (way) => {
      const cache = new KeptCache(heads, keepsCache !== "as-made");
      // Outputs of every layer are copied, which only layers that are run have.
      const every = handsOutCache === true ? "none" : way;
      const pass = (this.smoothed(program, cache) ?? this.interpretersOf(program, cache))(every);
      return {
        get foldings() {
          return pass.foldings;
        },
        main: (batch) => {
          const outputs = pass.main(batch);
          if (WITHOUT_CACHE.has(task)) cache.release();
          return handsOutCache === true ? [...outputs, ...cache.take()] : outputs;
        },
        keptCache: () => cache.take(),
      };
    };
  }

  /** A model that is run as it is, without the wrapper of the trained one. */
  runnable(
    { graph, view, head }: Program,
    model: RunnableModel["model"] & Pick<LoadedModel, "parameters">,
    way: Fold,
  ): RunnableModel {
    const layerSignature = way !== "none" && this.fold ? layerSignatures(model.parameters) : null;
    const { hooks: _, ...options } = this.optionsOf({ view }, way);
    return {
      model,
      graph,
      options: { ...options, head, layerSignature },
      heads: Number(view.scope("num_key_value_heads") ?? 0),
    };
  }

  /** Another model that the loss calls beside the trained one; null: there is none. */
  private companion(at: RunSizes, way: Fold): TrainerParts["companion"] {
    const { spec } = this.setup;
    const { companionAt, reference } = this.models;
    const other = companionAt(at);
    if (other === null) return null;
    const { hooks: _, ...own } = this.optionsOf(other, way);
    const signature = reference && layerSignatures(reference.model.parameters);
    return {
      graph: other.graph,
      options: { ...own, head: other.head, layerSignature: own.layerSignature && signature },
      // Nothing switches the teacher's `use_cache` off (trl/experimental/gkd/gkd_trainer.py, compute_loss).
      ...(spec?.kind === "gkd" ? { cache: () => cacheOf(other.view, null, 1) } : {}),
    };
  }

  /**
   * Passes of a step or of an evaluation: the loss that a script writes itself takes the model's place there.
   *
   * @param asksOutputs whether what the model gave stands behind the loss, as in an evaluation
   */
  around(
    program: Program,
    scope: Scope | null,
    loss: TrainerGraph | undefined,
    at: RunSizes,
    asksOutputs: boolean,
  ): PassFactory {
    const { run, spec } = this.setup;
    const { ownLoss } = run;
    const kept = this.cacheKept(asksOutputs);
    if (ownLoss === undefined || spec !== null) return this.of(program, scope, loss, at, kept);
    const { companionAt, reference } = this.models;
    const other = reference === null ? null : companionAt(at);
    return ownLossPasses(
      this.torch,
      ownLoss,
      {
        programAt: (times, length = at.S) =>
          times === 1 && length === at.S
            ? program
            : programOf(run, this.setup.family, { ...at, B: times * at.B, S: length }, run.fusedLoss),
        wraps: run.loop?.keepsDtype !== true,
        body: run.body === true,
        holds: ownLoss.module !== undefined,
        weight: (name) => this.models.model.byName.get(name),
        heads: Number(program.view.scope("num_key_value_heads") ?? 0),
        keepsCache: kept,
        interpretersOf: (called, cache, more) => this.interpretersOf(called, cache, more),
        other: other &&
          reference && { ...this.runnable(other, reference.model, "none"), caches: run.task === "causal-lm" },
      },
      asksOutputs,
    );
  }

  /** Passes behind which another model runs on the same batch: what it gives goes when the loss is made (transformers/trainer.py, `compute_loss`). */
  private besideOthers(program: Program, at: RunSizes, passes: PassFactory): PassFactory {
    const { spec } = this.setup;
    const { companionAt, reference } = this.models;
    const other = spec === null && reference !== null ? companionAt(at) : null;
    if (other === null || reference === null) return passes;
    const { torch } = this;
    const names = program.graph.batch.map(({ name }) => name);
    return (way) => {
      const own = passes(way);
      const { graph, options } = this.runnable(other, reference.model, "none");
      const { byName: parameters, modules } = reference.model;
      return Object.assign(Object.create(own) as Pass, {
        main: (batch: readonly Tensor[]): Tensor[] => {
          let outputs = own.main(batch);
          const { autocastEnabled, gradEnabled, training } = torch;
          if (autocastEnabled) {
            torch.autocastEnabled = false;
            torch.clearCastCache();
            outputs = toFloat32(torch, outputs);
          }
          torch.gradEnabled = false;
          torch.training = false;
          const inputs = graph.main.inputs.map((name) => batch[names.indexOf(name)] ?? null);
          const interpreter = new Interpreter(torch, graph, { ...options, parameters, modules, checkpointing: null });
          for (const output of interpreter.main(inputs)) output.release();
          torch.gradEnabled = gradEnabled;
          torch.training = training;
          return outputs;
        },
      });
    };
  }

  /** The cache that outputs keep; a prefix is one already, which the layers are given and fill (peft/peft_model.py, `past_key_values`). */
  private cacheKept(asksOutputs: boolean): TrainingRun["keepsCache"] {
    const { run } = this.setup;
    if (standsApart(run)) return undefined;
    return run.keepsCache ?? (asksOutputs ? run.evaluationKeepsCache : undefined);
  }

  /** Makes what a micro-batch runs: the model, or a loss around it where there is one. */
  of(
    program: Program,
    scope: Scope | null,
    loss: TrainerGraph | undefined,
    at: RunSizes,
    keepsCache = this.cacheKept(false),
  ): PassFactory {
    const { torch, models } = this;
    const { spec, run } = this.setup;
    if (spec === null || loss === undefined || scope === null)
      return this.besideOthers(
        program,
        at,
        keepsCache === undefined
          ? (this.smoothed(program) ?? this.interpretersOf(program))
          : this.caching(program, keepsCache),
      );
    const { rater, raterUsage } = models;
    const rated = rater?.at(at);
    return (way) =>
      trainerPass(torch, {
        spec,
        loss,
        graph: program.graph,
        scope,
        policy: models.model,
        copy: models.reference?.model ?? null,
        copyUsage: models.reference?.usage ?? null,
        companion: this.companion(at, way),
        // Copied from a policy whose `use_cache` only checkpointing had switched off (trl/experimental/online_dpo).
        ...(isOnline(spec.kind) && run.checkpointing === null
          ? { copyCache: () => cacheOf(program.view, null, 1) }
          : {}),
        rater:
          rater === null || rated === undefined
            ? null
            : { model: this.runnable(rated, rater.model, way), usage: raterUsage },
        media: mediaOf(program.graph).map(({ name }) => name),
        options: this.optionsOf(program, way),
      });
  }
}
