/**
 * Label smoothing, which takes the place of the model's own loss: labels are taken out of the batch, and the loss is made outside
 * autocast from the logits that accelerate hands on. Source: transformers/trainer.py (`compute_loss`),
 * transformers/trainer_pt_utils.py (`LabelSmoother.__call__`).
 */
import { Interpreter } from "../engine/interpreter";
import type { InterpreterOptions } from "../engine/interpreter/options";
import type { Tensor } from "../engine/tensor";
import type { Torch } from "../engine/torch";
import type { ArchitectureGraph, BatchTensor, GraphFunction, Instruction, Operand } from "../graph/types";
import type { PassFactory } from "./forward";
import { toFloat32 } from "./outputs";
import type { Task, TrainingRun } from "./run";
import { untilLogits } from "./trainers";

/** Tasks whose labels are classes of the logits' last dimension, under the name that the Trainer looks for. */
const SMOOTHED: ReadonlySet<Task> = new Set([
  "causal-lm",
  "masked-lm",
  "seq-cls",
  "token-cls",
  "multiple-choice",
  "seq2seq-lm",
  "image-cls",
  "audio-cls",
  "image-text-to-text",
  "speech-seq2seq",
]);

/** Whether the Trainer's loss is the smoothed one. */
export function smooths({ labelSmoothing, task }: Pick<TrainingRun, "labelSmoothing" | "task">): boolean {
  return labelSmoothing > 0 && SMOOTHED.has(task);
}

const LABELS = "labels";
/** Labels of the whole step, where the model takes their count. */
const COUNT = "num_items_in_batch";
/** Classes that language models' logits are compared with are those of the next token. */
const SHIFTS: ReadonlySet<Task> = new Set(["causal-lm"]);

function op(name: string, operands: readonly Operand[], out: string, kw?: OpKeywords): Instruction {
  return { op: name, in: operands, out: [out], ...(kw === undefined ? {} : { kw }) };
}

type OpKeywords = Readonly<Record<string, Operand>>;

const END = Number.MAX_SAFE_INTEGER;

/** `logits[..., :-1, :].contiguous()` and `labels[..., 1:].contiguous()`. */
const SHIFT: readonly Instruction[] = [
  op("slice.Tensor", ["%logits", 1, 0, -1], "upto"),
  op("contiguous", ["%upto"], "scores"),
  { drop: ["upto"] },
  op("slice.Tensor", [`%${LABELS}`, 1, 1, END], "next"),
  op("contiguous", ["%next"], "classes"),
  { drop: ["next"] },
];

const AS_THEY_ARE: readonly Instruction[] = [
  op("alias", ["%logits"], "scores"),
  op("alias", [`%${LABELS}`], "classes"),
];

/** Labels that count, of this micro-batch alone. */
const OWN_COUNT: readonly Instruction[] = [
  op("to", ["%padding", "$int64"], "masked"),
  op("sum", ["%masked"], "masks"),
  { drop: ["masked"] },
  op("rsub", ["%masks", 1], "count"),
  { drop: ["masks"] },
];

function smoother(shifts: boolean, counted: boolean): GraphFunction {
  return {
    inputs: ["logits", LABELS, ...(counted ? ["count"] : [])],
    outputs: ["loss"],
    body: [
      ...(shifts ? SHIFT : AS_THEY_ARE),
      op("log_softmax", ["%scores", -1], "probabilities"),
      op("neg", ["%probabilities"], "log_probs"),
      { drop: ["probabilities"] },
      op("unsqueeze", ["%classes", -1], "wide"),
      op("eq", ["%wide", -100], "padding"),
      op("clamp", ["%wide", 0], "index"),
      { drop: ["wide", "classes"] },
      op("gather", ["%log_probs", -1, "%index"], "nll"),
      op("sum.dim_IntList", ["%log_probs", [-1], true], "smooth", { dtype: "$float32" }),
      op("masked_fill_", ["%nll", "%padding", 0], "nll"),
      op("masked_fill_", ["%smooth", "%padding", 0], "smooth"),
      ...(counted ? [] : OWN_COUNT),
      op("sum", ["%nll"], "nll_sum"),
      op("div", ["%nll_sum", "%count"], "nll_mean"),
      { drop: ["nll", "nll_sum"] },
      op("sum", ["%smooth"], "smooth_sum"),
      op("mul", ["%count", 2], "terms"),
      op("div", ["%smooth_sum", "%terms"], "smooth_mean"),
      { drop: ["smooth", "smooth_sum", "terms"] },
      op("mul", ["%nll_mean", 0.5], "nll_part"),
      op("mul", ["%smooth_mean", 0.5], "smooth_part"),
      op("add", ["%nll_part", "%smooth_part"], "loss"),
    ],
  };
}

/** The function as the interpreter takes it: a graph without parameters or layers of its own. */
function asGraph(main: GraphFunction, batch: readonly BatchTensor[]): ArchitectureGraph {
  return { task: "", attention: "", when: [], parameters: [], buffers: [], tied: [], batch, main, blocks: [] };
}

/**
 * Passes of a model whose own loss gives way to the smoothed one.
 *
 * @param graph of the model with its own loss
 * @param interpreterOf makes the interpreter of a graph
 * @param beside what the model hands out beside its logits, owned
 * @returns null where the model's logits cannot be told from its loss
 */
export function smoothedPasses(
  torch: Torch,
  graph: ArchitectureGraph,
  { scope, expressions }: Pick<InterpreterOptions, "scope" | "expressions">,
  interpreterOf: (graph: ArchitectureGraph) => (way: Parameters<PassFactory>[0]) => Interpreter,
  beside: () => readonly Tensor[] = () => [],
): PassFactory | null {
  const model = untilLogits(graph, null);
  const labels = graph.batch.findIndex(({ name }) => name === LABELS);
  const count = graph.batch.findIndex(({ name }) => name === COUNT);
  if (model === null || labels < 0) return null;
  const loss = asGraph(smoother(SHIFTS.has(graph.task as Task), count >= 0), graph.batch);
  const options: InterpreterOptions = {
    scope,
    expressions,
    layerKind: () => null,
    parameters: new Map(),
    modules: new Map(),
    loadDtype: "float32",
    checkpointing: null,
    layerSignature: null,
    head: null,
  };
  return (way) => {
    const interpreter = interpreterOf(model)(way);
    return {
      get foldings() {
        return interpreter.foldings;
      },
      main: (batch) => {
        let outputs = [...interpreter.main(batch), ...beside()];
        if (torch.autocasting) {
          torch.autocastEnabled = false;
          torch.clearCastCache();
          outputs = toFloat32(torch, outputs);
        }
        torch.logits = true;
        const taken = [outputs[0]!, batch[labels]!, ...(count < 0 ? [] : [batch[count]!])];
        const [smoothed] = new Interpreter(torch, loss, options).main(taken);
        torch.logits = false;
        return [smoothed!, ...outputs];
      },
    };
  };
}
