/** Calls of `generate` with a run's own model, beside whatever else is on the device. */

import { say } from "../../words/message";
import { type DType, ELEMENT_BYTES } from "../engine/dtype";
import { FOLDS, type Fold, nextFold } from "../engine/folding/plan";
import { recordRegion } from "../engine/folding/region";
import type { Interpreter } from "../engine/interpreter";
import { stacksOf } from "../engine/interpreter/graph-parts";
import type { AttentionCache } from "../engine/interpreter/options";
import { NotModelled } from "../engine/not-modelled";
import type { Torch } from "../engine/torch";
import { type ConfigView, type RunSizes, sizesOf } from "../graph/config";
import { buildsNoMask } from "../graph/flash";
import type { ArchitectureGraph, FamilyGraphs, RepeatInstruction } from "../graph/types";
import { type CacheStyle, SimulatedCache } from "../training/generation/cache";
import { runGeneration } from "../training/generation/generate";
import { PAGED_DEFAULTS, type PagedPool, pagedPool, runPaged } from "../training/generation/paged";
import type { GenerationSpec, TrainingRun } from "../training/run";
import { MASK, mediaOf } from "../training/trainers/models";
import { batchOf, type Program, programOf } from "./program";

/** Makes an interpreter; folded ones leave out layers that repeat their neighbours. */
export type InterpreterFactory = (fold: Fold) => Interpreter;

/** An empty key-value cache of a model; `tokens` of a static one, null for one that grows. */
export function cacheOf(
  view: ConfigView,
  tokens: number | null,
  beams: number,
  style: CacheStyle = "dynamic",
  byLayer = false,
): SimulatedCache {
  const window = windowIn(view);
  const windowOf = (layer: number): number | null => {
    const kind = view.layerKind(layer);
    return window > 0 && (kind === null || kind === "sliding_attention") ? window : null;
  };
  const heads = view.scope("num_key_value_heads") ?? view.scope("text_config.num_key_value_heads");
  return new SimulatedCache(windowOf, Number(heads ?? 0), tokens, beams, style, byLayer);
}

function windowIn(view: ConfigView): number {
  return Number(view.scope("sliding_window") ?? 0);
}

/** Whether every layer has attention, and one only: its window is that of the layer then, whichever others are run. */
function attendsInEvery(view: ConfigView): boolean {
  const layers = Number(view.scope("num_hidden_layers") ?? view.scope("text_config.num_hidden_layers") ?? 0);
  return Array.from({ length: layers }, (_, layer) => view.layerKind(layer)).every(
    (kind) => kind === null || kind === "full_attention" || kind === "sliding_attention",
  );
}

/** How a run's model generates. */
export interface Generating {
  readonly interpretersOf: (program: Program, cache: AttentionCache) => InterpreterFactory;
  readonly autocast: DType | null;
  /** Whether middle layers are left out and put back: nobody acts in hooks. */
  readonly folds: boolean;
}

/**
 * Books a call of `generate` with the run's model on the phase in force. The captured training graph serves with queries of
 * the prompt's length, then of one token; attention reads the cache.
 *
 * @returns bytes of the key-value cache at its longest
 */
export function generate(
  torch: Torch,
  run: TrainingRun,
  family: FamilyGraphs,
  spec: GenerationSpec,
  { interpretersOf, autocast, folds }: Generating,
): number {
  const encoder = run.task === "seq2seq-lm";
  // The cache is met in the fused attention; the scores of eager attention are small for single queries.
  const ofSizes = (sizes: RunSizes): Program | null =>
    programOf({ ...run, attention: "sdpa" }, family, sizes, false) ?? programOf(run, family, sizes, false);
  const programAt = (tokens: number): Program => {
    const sizes = encoder
      ? { ...sizesOf(run), B: spec.batchSize, S: spec.promptLength, T: tokens }
      : { ...sizesOf(run), B: spec.batchSize * spec.beams, S: tokens, T: 0 };
    // Pictures are read with the prompt; where no graph of texts alone was captured, every token reads them again.
    const alone = tokens < spec.promptLength ? ofSizes({ ...sizes, I: 0 }) : null;
    const program = alone !== null && seenBy(alone).length === 0 ? alone : ofSizes(sizes);
    if (program === null) throw new NotModelled(say("engine.generation", { family: family.family }));
    return program;
  };
  const prompt = programAt(spec.promptLength);
  const { view } = prompt;
  const scope = (name: string): number => Number(view.scope(name) ?? view.scope(`text_config.${name}`) ?? 0);
  if (spec.cache === "paged") return runPaged(torch, pagedOf(torch, run, view, spec));
  const tokens = spec.cache === "static" ? spec.promptLength + spec.newTokens : null;
  const style = spec.cache === "static" ? "dynamic" : spec.cache;
  const byLayer = attendsInEvery(view);
  const mayFold =
    folds &&
    !encoder &&
    style === "dynamic" &&
    (byLayer || windowIn(view) <= 0) &&
    endsAlike(prompt.graph, programAt(1).graph);
  const { ledger } = torch;
  for (let fold: Fold = mayFold ? FOLDS[0] : "none"; ; ) {
    const state = ledger.state();
    const cache = cacheOf(view, tokens, encoder ? spec.beams : 1, style, byLayer && fold !== "none");
    const { cacheBytes, foldings } = runGeneration(torch, {
      spec,
      // peft generates with the model inside, whose forward accelerate did not wrap (peft/peft_model.py, generate).
      autocast: run.adapter === null ? autocast : null,
      vocabulary: scope("vocab_size"),
      interpreter: (tokens) => interpretersOf(programAt(tokens), cache)(fold),
      media: batchOf({ batch: seenBy(prompt) }, view.expressions, prompt.dataView.scope, autocast, run.loadDtype),
      sees: (tokens) => seenBy(programAt(tokens)).length > 0,
      encoder: encoder ? { width: scope("hidden_size"), dtype: run.loadDtype } : null,
      cache,
    });
    if (foldings.every(({ copies }) => copies === 0)) return cacheBytes;
    const region = recordRegion(ledger, state, foldings, [], () => undefined);
    ledger.rewind(state);
    if (region !== null) {
      ledger.play(region.script, 0);
      return cacheBytes;
    }
    fold = nextFold(fold, foldings) ?? "none";
  }
}

/** Whether the stacks of a graph are the last ones of another: their layers are the same then. */
function endsAlike(longer: ArchitectureGraph, graph: ArchitectureGraph): boolean {
  const ends = ({ repeat: { from, to } }: RepeatInstruction): string => JSON.stringify([from, to]);
  const [all, own] = [stacksOf(longer).map(ends), stacksOf(graph).map(ends)];
  return all.slice(all.length - own.length).join() === own.join();
}

/** What a model is given beside its text; the mask of the prompts is the caller's own. */
function seenBy({ graph }: Program): ReturnType<typeof mediaOf> {
  return mediaOf(graph).filter(({ name }) => name !== MASK);
}

/** The paged cache that the library makes for the model beside what is on the card now. */
function pagedOf(torch: Torch, run: TrainingRun, view: ConfigView, spec: GenerationSpec): PagedPool {
  const scope = (name: string): number => Number(view.scope(name) ?? 0);
  const layers = scope("num_hidden_layers");
  const counts = new Map<string, number>();
  for (let layer = 0; layer < layers; layer++) {
    const kind = view.layerKind(layer) ?? "";
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const heads = scope("num_attention_heads");
  const model = {
    layers,
    hidden: scope("hidden_size"),
    vocabulary: scope("vocab_size"),
    heads,
    keyValueHeads: scope("num_key_value_heads") || heads,
    headWidth: scope("head_dim") || scope("hidden_size") / heads,
    // TRL casts the model to the dtype it computes in before it generates so (trl/trainer/grpo_trainer.py).
    elementBytes: ELEMENT_BYTES[run.autocast ?? run.loadDtype],
    kinds: [...counts.values()],
    masks: buildsNoMask(run.attention) ? 0 : counts.size > 1 ? 2 : 1,
  };
  const free = run.device === null ? null : run.device.memoryBytes - torch.ledger.live;
  const needed = spec.batchSize * (spec.promptLength + spec.newTokens);
  return pagedPool(model, spec.paged ?? PAGED_DEFAULTS, free, needed);
}
