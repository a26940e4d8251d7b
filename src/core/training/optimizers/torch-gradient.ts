/** Rules of torch.optim with one moment or none, per-element steps, or factored ones. */
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { statesLike, stepState, type TorchRule, type Update } from "./torch-rule";
import { state, stateLike } from "./types";

/** torch/optim/sgd.py: the momentum starts as a copy of the (decayed) gradient. */
const sgd: TorchRule = {
  states() {
    // made while stepping
  },
  foreach(u, list, first) {
    u.decayedList("device_grads", list);
    if (u.options.momentum === 0) return;
    for (const parameter of list) if (first.has(parameter)) stateLike(u.torch, parameter, parameter.dtype, "clone");
    if (!u.options.nesterov) u.names.drop("device_grads");
  },
  single(u, parameter, first) {
    u.decayed("grad", parameter);
    if (u.options.momentum === 0) return;
    if (first) stateLike(u.torch, parameter, parameter.dtype, "clone");
    if (u.options.nesterov) u.like("grad", "add", parameter);
    else u.names.drop("grad");
  },
};

/** torch/optim/rmsprop.py. */
const rmsprop: TorchRule = {
  states(torch, parameter, options) {
    stepState(torch, options);
    statesLike(torch, parameter, 1 + (options.momentum > 0 ? 1 : 0) + (options.centered ? 1 : 0));
  },
  foreach(u, list) {
    u.decayedList("grouped_grads", list);
    u.list("avg", u.options.centered ? "_foreach_addcmul" : "_foreach_sqrt", list);
  },
  single(u, parameter) {
    u.decayed("grad", parameter);
    u.like("avg", u.options.centered ? "addcmul" : "sqrt", parameter);
  },
};

/** torch/optim/adagrad.py. */
const adagrad: TorchRule = {
  eager: true,
  states(torch, parameter) {
    stateLike(torch, parameter, parameter.dtype, "full_like");
  },
  foreach(u, list) {
    u.decayedList("device_grads", list);
    u.list("std", "_foreach_sqrt", list);
    if (u.options.decay === 0) u.list("numerator", "_foreach_mul", list);
  },
  single(u, parameter) {
    u.decayed("grad", parameter);
    u.like("std", "sqrt", parameter);
  },
};

/** torch/optim/adadelta.py. */
const adadelta: TorchRule = {
  states(torch, parameter, options) {
    stepState(torch, options);
    statesLike(torch, parameter, 2);
  },
  foreach(u, list) {
    u.decayedList("device_grads", list);
    u.list("std", "_foreach_add", list);
    u.list("deltas", "_foreach_add", list);
  },
  single(u, parameter) {
    u.decayed("grad", parameter);
    u.like("std", "add", parameter);
    u.like("delta", "add", parameter);
  },
};

/** `torch.where(mask, number, signs)`: mask and number beside the result, which is copied and let go. */
function choose(u: Update, parameter: Tensor, times: number): void {
  for (let k = 0; k < times; k++) {
    const mask = u.make("gt", parameter, "bool");
    const number = u.torch.empty("scalar_tensor", [], parameter.dtype);
    u.passing("where", parameter);
    number.release();
    mask.release();
  }
}

/** torch/optim/rprop.py: the last gradient and a step size per element; signs come from masks. */
const rprop: TorchRule = {
  states(torch, parameter, options) {
    stepState(torch, options);
    stateLike(torch, parameter);
    stateLike(torch, parameter, parameter.dtype, "full_like");
  },
  foreach(u, list) {
    u.list("signs", "_foreach_mul", list);
    for (const parameter of list) masked(u, parameter, 3);
    for (const parameter of list) choose(u, parameter, 1);
    u.names.drop("signs");
    u.list("grad_signs", "sign", list);
  },
  single(u, parameter) {
    const product = u.make("mul", parameter);
    u.like("sign", "sign", parameter);
    product.release();
    masked(u, parameter, 3);
    u.like("grad", "clone", parameter);
    masked(u, parameter, 1);
    u.passing("sign", parameter);
  },
};

/** `tensor[mask] = number` in place, or through `where` when it may be captured. */
function masked(u: Update, parameter: Tensor, times: number): void {
  if (u.options.capturable) choose(u, parameter, times);
  else
    for (let k = 0; k < times; k++) {
      const mask = u.make("gt", parameter, "bool");
      u.torch.empty("scalar_tensor", [], parameter.dtype).release();
      mask.release();
    }
}

/** torch/optim/asgd.py: step, rate and weight of the average are device scalars whatever the variant. */
const asgd: TorchRule = {
  states(torch, parameter) {
    for (const operator of ["zeros", "clone", "ones"]) state(torch, operator, [], "float32");
    stateLike(torch, parameter);
  },
  foreach(u, list) {
    u.list("intermediate", "_foreach_add", list);
    u.names.drop("intermediate");
    u.list("intermediate", "_foreach_sub", list);
    u.names.drop("intermediate");
    u.scalars("new_etas", "_foreach_mul", list);
    u.scalars("new_mus", "as_tensor", list);
    if (u.options.capturable) u.names.drop("new_mus");
  },
  single(u, parameter) {
    u.decayed("grad", parameter);
    const { capturable } = u.options;
    if (capturable) {
      u.scalar(null, "mul", "rsub");
      u.passing("sub", parameter);
    }
  },
};

/** torch/optim/_adafactor.py: rows and columns in the gradient's dtype; for-loop unless foreach is asked for. */
const adafactor: TorchRule = {
  standard: { foreach: false, decay: 0, decoupled: true },
  states(torch, parameter) {
    const { sizes, dtype } = parameter;
    if (sizes.length > 1) for (const factor of factors(sizes)) state(torch, "new_zeros", factor, dtype);
    else stateLike(torch, parameter);
  },
  foreach(u, list) {
    for (const matrices of [true, false]) {
      const part = list.filter(({ rank }) => rank > 1 === matrices);
      if (part.length === 0) continue;
      if (matrices) {
        for (const side of [0, 1]) {
          u.names.bindAll(
            "means",
            part.map(({ sizes, dtype }) => u.torch.empty("linalg_vector_norm", factors(sizes)[side]!, dtype)),
          );
          u.names.drop("means");
        }
        u.list("var_estimates", "mm", part);
        u.scalars("row_var_means", "mean", part);
        u.names.drop("row_var_means");
      } else {
        u.list("grads_squared", "_foreach_mul", part);
        u.names.drop("grads_squared");
        u.list("var_estimates", "clone", part);
      }
    }
  },
  single(u, parameter) {
    const { sizes, dtype } = parameter;
    let estimate: Tensor;
    if (sizes.length > 1) {
      const [row, column] = factors(sizes);
      u.names.bind("row_mean", u.torch.empty("linalg_vector_norm", row!, dtype));
      u.names.bind("col_mean", u.torch.empty("linalg_vector_norm", column!, dtype));
      estimate = u.make("mm", parameter);
      u.torch.empty("mean", [], dtype).release();
    } else {
      u.like("grad_squared", "mul", parameter);
      estimate = u.make("clone", parameter);
    }
    // `update` is the estimate, changed in place: the last one is held until here.
    u.names.bind("update", estimate);
    u.torch.empty("linalg_vector_norm", [], dtype).release();
  },
};

/** Row and column sizes with the reduced dimension kept. */
function factors(sizes: readonly number[]): readonly (readonly number[])[] {
  const rows = [...sizes.slice(0, -1), 1];
  const columns = [...sizes.slice(0, -2), 1, sizes[sizes.length - 1]!];
  return [rows, columns];
}

/**
 * torch/optim/_muon.py: one momentum, and an orthogonalized update in bfloat16 by five Newton-Schulz steps. Parameters
 * that are not matrices of the hidden layers belong to AdamW, as its documentation says.
 */
const muon: TorchRule = {
  standard: { foreach: false, nesterov: true, decoupled: true },
  states(torch, parameter) {
    stateLike(torch, parameter);
  },
  foreach() {
    // there is none
  },
  single(u, parameter) {
    const { torch } = u;
    const [rows, columns] = parameter.sizes as [number, number];
    const small = Math.min(rows, columns);
    if (u.options.nesterov) u.like("update", "lerp", parameter);
    else u.names.drop("update");
    const half = parameter.dtype === "bfloat16";
    // In bfloat16 the momentum itself is normalised in place.
    let ortho = half ? null : torch.empty("_to_copy", parameter.sizes, "bfloat16");
    u.scalar(null, "linalg_vector_norm", "clamp");
    for (let k = 0; k < NEWTON_SCHULZ_STEPS; k++) {
      u.names.bind("gram_matrix", multiplied(torch, "mm", [small, small], Math.max(rows, columns)));
      u.names.bind("gram_update", multiplied(torch, "addmm", [small, small], small));
      const next = multiplied(torch, "addmm", [rows, columns], small);
      ortho?.release();
      ortho = next;
    }
    u.names.drop("gram_matrix");
    u.names.drop("gram_update");
    if (ortho !== null) u.names.bind("update", ortho);
  },
};

/** A product in bfloat16, summed over so many elements. */
function multiplied(torch: Torch, operator: string, sizes: readonly [number, number], inner: number): Tensor {
  torch.multiply(sizes, { count: 1, rows: sizes[0], columns: sizes[1], inner, dtype: "bfloat16" });
  return torch.empty(operator, sizes, "bfloat16");
}

/** `ns_steps`. */
const NEWTON_SCHULZ_STEPS = 5;

export const GRADIENT_RULES = {
  sgd,
  rmsprop,
  adagrad,
  adadelta,
  rprop,
  asgd,
  adafactor_torch: adafactor,
  muon,
} satisfies Readonly<Record<string, TorchRule>>;
