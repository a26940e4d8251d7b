/**
 * Adam-mini: a first moment like the parameter, a second one per head (queries and keys), per neuron (other matrices) or per
 * parameter (the rest); biases have plain Adam's. Source: adam-mini 1.1.1 (adam_mini.py, step), which tells them by parts of
 * their names.
 */
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { Locals } from "./locals";
import { type OptimizerArguments, type OptimizerFactory, state, stateLike, withGradient } from "./types";

const QUERY_KEY = ["k_proj", "q_proj", "wq", "wk", "query", "key"];
const BY_NEURON = [
  ...["embed", "embd", "wte", "lm_head", "output", "final_layer", "v_proj", "wv", "value"],
  ...["feed_forward", "linear", "mlp", "o_proj", "wo", "attn.proj"],
];

type Kind = "adam" | "head" | "neuron" | "whole";

function kindOf(name: string): Kind {
  const has = (parts: readonly string[]): boolean => parts.some((part) => name.includes(part));
  if (name.includes("bias")) return "adam";
  return has(QUERY_KEY) ? "head" : has(BY_NEURON) ? "neuron" : "whole";
}

/** Second moments of a parameter: one each. */
function rows(parameter: Tensor, kind: Kind, { dim, n_heads }: OptimizerArguments): readonly number[] {
  if (kind === "whole") return [];
  if (kind === "neuron") return [parameter.size(0), 1];
  const width = Number(dim ?? 2048);
  const head = Math.max(1, Math.floor((width * width) / Math.max(1, Number(n_heads ?? 32))));
  return [Math.max(1, Math.round(parameter.elements / head)), 1];
}

/** The result of an expression, whose operand is let go when it is there. */
function from(operand: Tensor, result: Tensor): Tensor {
  operand.release();
  return result;
}

/** One parameter's update; the names of the loop keep their tensors until they are bound again. */
function update(
  torch: Torch,
  parameter: Tensor,
  locals: Locals,
  kind: Kind,
  first: boolean,
  moments: readonly number[],
) {
  const { sizes, dtype } = parameter;
  const make = (operator: string, of: readonly number[]): Tensor => torch.empty(operator, of, dtype);
  if (kind === "adam") {
    if (first) for (let k = 0; k < 2; k++) stateLike(torch, parameter);
    locals.bind("h", from(make("sqrt", sizes), make("div", sizes)));
    return;
  }
  if (first) {
    if (kind === "whole") locals.bind("block_numel", torch.empty("_to_copy", [], "float32"));
    stateLike(torch, parameter);
    if (kind === "whole") {
      const sum = from(make("mul", sizes), make("sum", []));
      state(torch, "zeros_like", moments, dtype);
      sum.release();
    } else state(torch, "zeros_like", moments, dtype);
  }
  locals.bind("tmp_lr", from(make("mul", sizes), make("mean", moments)));
  if (kind === "whole") locals.bind("tmp_lr", make("div", moments));
  locals.bind("h", from(make("sqrt", moments), make("div", moments)));
  locals.bind("stepsize", from(make("reciprocal", moments), make("mul", moments)));
  locals.bind("update", make("mul", sizes));
  make("neg", sizes).release();
}

export const adamMini: OptimizerFactory = (_, groups, args) => {
  const seen = new Set<Tensor>();
  return {
    step(torch) {
      const locals = new Locals();
      for (const parameter of groups.flatMap(withGradient)) {
        const kind = kindOf((parameter.name ?? "").toLowerCase());
        update(torch, parameter, locals, kind, !seen.has(parameter), rows(parameter, kind, args));
        seen.add(parameter);
      }
      locals.release();
    },
  };
};
