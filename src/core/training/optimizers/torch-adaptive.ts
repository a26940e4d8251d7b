/** Rules of torch.optim with two moments: Adam(W), Adamax, NAdam, RAdam. */
import { statesLike, stepState, type TorchRule } from "./torch-rule";
import { state } from "./types";

/** torch/optim/adam.py; AdamW is the same with decoupled decay. */
const adam: TorchRule = {
  states(torch, parameter, options) {
    stepState(torch, options);
    statesLike(torch, parameter, options.amsgrad ? 3 : 2);
  },
  foreach(u, list) {
    u.decayedList("device_grads", list);
    u.names.drop("device_grads");
    if (u.options.capturable) {
      u.scalars("bias_correction1", "_foreach_pow", list);
      u.scalars("bias_correction2", "_foreach_pow", list);
    }
    u.list("exp_avg_sq_sqrt", "_foreach_sqrt", list);
    if (u.options.denominatorApart) u.list("denom", "_foreach_add", list);
  },
  single(u, parameter) {
    u.decayed("grad", parameter);
    const { capturable, amsgrad } = u.options;
    if (capturable) {
      u.scalar("bias_correction1", "pow", "rsub");
      u.scalar("bias_correction2", "pow", "rsub");
      u.scalar("step_size", "reciprocal", "mul");
      u.scalar("step_size_neg", "neg");
      u.scalar("bias_correction2_sqrt", "sqrt");
      if (amsgrad) u.passing("maximum", parameter);
    }
    const root = u.make("sqrt", parameter);
    const factor = capturable ? u.torch.empty("mul", [], "float32") : null;
    const quotient = u.make("div", parameter);
    root.release();
    factor?.release();
    if (capturable) u.scalar(null, "reciprocal", "mul");
    u.names.bind("denom", quotient);
  },
};

/** torch/optim/adamax.py. */
const adamax: TorchRule = {
  states(torch, parameter, options) {
    stepState(torch, options);
    statesLike(torch, parameter, 2);
  },
  foreach(u, list) {
    u.decayedList("grouped_grads", list);
    if (u.options.decay === 0) u.list("grouped_grads", "_foreach_abs", list);
    if (!u.options.capturable) return;
    u.scalars("bias_corrections", "_foreach_pow", list);
    u.list("denom", "_foreach_mul", list);
  },
  single(u, parameter) {
    u.decayed("grad", parameter);
    u.passing("abs", parameter);
    if (!u.options.capturable) return;
    u.scalar("neg_bias_correction", "pow", "sub");
    u.like("denom", "mul", parameter);
  },
};

/** torch/optim/nadam.py. */
const nadam: TorchRule = {
  states(torch, parameter, options) {
    stepState(torch, options);
    if (options.capturable) state(torch, "ones", [], "float32");
    statesLike(torch, parameter, 2);
  },
  foreach(u, list) {
    u.decayedList("grouped_grads", list);
    u.list("exp_avg_sq_sqrt", "_foreach_sqrt", list);
    if (!u.options.capturable) return;
    u.scalars("exponent", "_foreach_mul", list);
    u.scalars("mus", "_foreach_pow", list);
    u.scalars("mu_nexts", "_foreach_pow", list);
    u.names.drop("exponent");
    u.scalars("bias_correction_sqrt", "_foreach_pow", list);
    u.names.drop("bias_correction_sqrt");
    for (const operator of ["_foreach_sub", "_foreach_mul"]) {
      u.scalars("denom", operator, list);
      u.names.drop("denom");
    }
    u.list("numerator", "_foreach_mul", list);
  },
  single(u, parameter) {
    const { capturable } = u.options;
    if (capturable) u.scalar("bias_correction2", "pow", "rsub");
    u.decayed("grad", parameter);
    if (capturable) {
      u.scalar("mu", "mul", "pow", "mul", "rsub", "mul");
      u.scalar("mu_next", "add", "mul", "pow", "mul", "rsub", "mul");
    }
    const quotient = u.make("div", parameter);
    u.like("denom", "sqrt", parameter);
    quotient.release();
    if (!capturable) return;
    u.like("denom", "add", parameter);
    u.scalar("mu_product_next", "mul");
    u.scalar("factor", "rsub", "mul", "div");
    u.like("grad", "mul", parameter);
    u.scalar("factor", "mul", "div");
    u.like("exp_avg", "mul", parameter);
    u.names.drop("factor");
  },
};

/** torch/optim/radam.py, rectified: from the sixth step on, when the default betas have seen enough. */
const radam: TorchRule = {
  states(torch, parameter, options) {
    stepState(torch, options);
    statesLike(torch, parameter, 2);
  },
  foreach(u, list) {
    const { capturable } = u.options;
    if (capturable) {
      u.scalars("bias_correction1", "_foreach_pow", list);
      u.scalars("bias_correction2", "_foreach_pow", list);
    }
    u.decayedList("grouped_grads", list);
    u.names.drop("grouped_grads");
    if (capturable) {
      u.scalars("num", "_foreach_sub", list);
      u.scalars("sub2", "_foreach_sub", list);
      u.names.drop("sub2");
      u.scalars("denom", "_foreach_mul", list);
      u.names.drop("denom");
      u.scalars("rect", "where", list);
      u.names.drop("num");
      u.scalars("unrect_step_size", "where", list);
      u.scalars("bias_correction1", "_foreach_pow", list);
      u.scalars("bias_correction2", "_foreach_pow", list);
      u.names.drop("rect");
      u.names.drop("bias_correction1");
    }
    u.list("buffer", "_foreach_sqrt", list);
  },
  single(u, parameter) {
    const { capturable } = u.options;
    u.decayed("grad", parameter);
    if (capturable) {
      u.scalar("bias_correction1", "pow", "rsub");
      u.scalar("bias_correction2", "pow", "rsub");
    }
    u.like("bias_corrected_exp_avg", "div", parameter);
    if (capturable) {
      u.scalar("rho_t", "mul", "mul", "div", "rsub");
      const rect = u.torch.empty("pow", [], "float32");
      const root = u.make("sqrt", parameter);
      const rate = u.make("div", parameter);
      root.release();
      const product = u.make("mul", parameter);
      rate.release();
      rect.release();
      u.like("update", "where", parameter);
      product.release();
      const scaled = u.make("mul", parameter);
      u.passing("mul", parameter);
      scaled.release();
      return;
    }
    const scaled = u.make("mul", parameter);
    const root = u.make("sqrt", parameter);
    const inverse = u.make("reciprocal", parameter);
    const rate = u.make("mul", parameter);
    inverse.release();
    root.release();
    const product = u.make("mul", parameter);
    scaled.release();
    rate.release();
    u.passing("mul", parameter);
    product.release();
  },
};

export const ADAPTIVE_RULES = {
  adam,
  adamw: { ...adam, standard: { decoupled: true } },
  adamax,
  nadam,
  radam,
} satisfies Readonly<Record<string, TorchRule>>;
