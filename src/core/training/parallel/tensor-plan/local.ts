/**
 * One GPU's part of a model that transformers splits by its plan, as a model of its own: fewer heads, fewer units between the two
 * matrices of the feed-forward layer. The plan decides which of them; what the smaller config says is checked against it.
 */
import { configView, parametersGraph, sizesOf } from "../../../graph/config";
import { DIMENSIONS } from "../../../graph/dimensions";
import { Expressions, truthy } from "../../../graph/expression";
import type { FamilyGraphs } from "../../../graph/types";
import type { AdapterSpec, TrainingRun } from "../../run";
import { withSizes } from "../with-sizes";
import { partOf, planOf, styleOfParameter, type TensorPlan } from "./plan";
import type { Style } from "./style";

type Sizes = Readonly<Record<string, number>>;

/** AdamW steps on split and whole parameters one by one (transformers/trainer_optimizer.py, has_mixed_dtensor). */
const ONE_BY_ONE = new Set(["adamw_torch", "adamw_torch_fused"]);

/** Whether nothing but transformers' own plan is around the model. */
function isPlain({ parallel, ...run }: TrainingRun, plan: TensorPlan): boolean {
  const { pipelineParallel, contextParallel, expertParallel, deepspeed, fsdp, mainParameters, sequenceParallel } =
    parallel;
  const isPlainLoss = !run.fusedLoss && run.task === "causal-lm" && (run.trainer == null || run.trainer.kind === "sft");
  return (
    run.ownCode === undefined &&
    isPlainLoss &&
    Math.max(pipelineParallel, contextParallel, expertParallel) <= 1 &&
    [deepspeed, fsdp, run.quantization, run.float8].every((one) => one == null) &&
    (run.adapter === null || splitsAdapters(run.adapter, plan)) &&
    mainParameters === undefined &&
    sequenceParallel !== true &&
    ONE_BY_ONE.has(run.optimizer.name)
  );
}

/**
 * Whether peft splits the adapters as what they stand beside (peft/tuners/lora/model.py, add_lora_tp_hooks_dtensor): those of
 * columns and rows that stay split. Beside others they are whole, which a smaller config does not say.
 */
function splitsAdapters(adapter: AdapterSpec, plan: TensorPlan): boolean {
  const { type, targetModules, targetParameters = [], modulesToSave } = adapter;
  if (type !== "lora" || targetParameters.length + modulesToSave.length > 0) return false;
  const others = plan.modules.filter(({ style }) => style === "gathered-columns" || style === "split-rows");
  return typeof targetModules === "string"
    ? others.every(({ path }) => !path.includes("*"))
    : others.every(({ path }) => !targetModules.some((name) => path === name || path.endsWith(`.${name}`)));
}

/** The width of a head where a family's code writes it as a share of the states' width. */
const HEAD_WIDTH = "hidden_size//num_attention_heads";

/** The family with heads as wide as they are in a run whose config has `degree` times fewer of them. */
function withWidth(family: FamilyGraphs, degree: number): FamilyGraphs {
  const width = `hidden_size//(num_attention_heads*${degree})`;
  return { ...family, expressions: new Expressions((source) => source.replaceAll(HEAD_WIDTH, width)) };
}

/** The run of one GPU; null where the plan is not followed: there is none, or sizes do not divide. */
export function byPlan(run: TrainingRun, family: FamilyGraphs): { run: TrainingRun; family: FamilyGraphs } | null {
  const degree = run.parallel.tensorParallel;
  const { scope } = configView(family, run.model.config, sizesOf(run));
  const tied = scope("tie_word_embeddings");
  const isTied = tied !== undefined && tied !== null && truthy(tied);
  const shares = run.parallel.sharesExperts === true ? { sharesExperts: true as const } : {};
  const plan = planOf(run.model.family, { degree, isTied, ...shares });
  if (plan === null || !isPlain(run, plan)) return null;
  const number = (name: string): number => Number(scope(name) ?? 0);
  const heads: Sizes = {
    num_attention_heads: number("num_attention_heads") / degree,
    num_key_value_heads: number("num_key_value_heads") / degree,
    head_dim: number("head_dim"),
  };
  const inner: Sizes = Object.fromEntries(
    [...DIMENSIONS.inner, ...DIMENSIONS.expertInner].flatMap((name) =>
      number(name) > 0 ? [[name, number(name) / degree]] : [],
    ),
  );
  const cut = withWidth(family, degree);
  for (const [sizes, own] of [
    [{ ...heads, ...inner }, cut],
    [heads, cut],
    [inner, family],
    [{}, family],
  ] as const) {
    if (!Object.values(sizes).every((size) => Number.isInteger(size) && size > 0)) continue;
    const local = { ...run, model: { ...run.model, config: withSizes(run.model.config, family, sizes) } };
    const undivided = undividedOf(shapesOf(local, own), shapesOf(run, family), plan, own === cut);
    if (undivided === null) continue;
    return {
      family: own,
      run: {
        ...local,
        optimizer: { ...run.optimizer, name: "adamw_for_loop" },
        parallel: { ...run.parallel, tensorParallel: 1, tensorPlan: { degree, undivided, isTied, ...shares } },
      },
    };
  }
  return null;
}

type Shapes = ReadonlyMap<string, readonly number[]>;

/** Parameters by name with their sizes in the first layer; none without a graph. */
function shapesOf(run: TrainingRun, family: FamilyGraphs): Shapes {
  const { scope, expressions } = configView(family, run.model.config, sizesOf(run));
  const graph = parametersGraph(family, run.task, run.attention, scope);
  const first = (name: string) => (name === "i" ? 0 : scope(name));
  return new Map(
    graph?.parameters.map(({ name, shape }) => [name, shape.map((size) => Number(expressions.evaluate(size, first)))]),
  );
}

const AMID_WHOLE: ReadonlySet<Style> = new Set(["gathered-columns", "split-rows", "vocabulary", "experts"]);

/**
 * Parameters that a smaller config leaves whole and the plan splits. What is around gathered columns and split rows is whole, so
 * that no size of theirs may have changed; a matrix may be as wide as the states where its heads are fewer. Null: the smaller
 * config says something else than the plan.
 */
function undividedOf(own: Shapes, whole: Shapes, plan: TensorPlan, hasFewerHeads: boolean): readonly string[] | null {
  const undivided: string[] = [];
  for (const [name, sizes] of whole) {
    const found = own.get(name) ?? [];
    const expected = partOf(plan, name, sizes);
    const style = styleOfParameter(plan, name);
    const isAmidWhole = style !== undefined && AMID_WHOLE.has(style);
    if (!expected.every(Number.isInteger)) return null;
    if (equal(found, expected) && !(isAmidWhole && !equal(expected, sizes))) continue;
    if (!equal(found, sizes) || !(isAmidWhole || hasFewerHeads)) return null;
    undivided.push(name);
  }
  return whole.size === 0 ? null : undivided;
}

function equal(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((size, k) => size === b[k]);
}
