/**
 * Optimizers as rows: what each is, which of the ways of `src/core/training/optimizers` it steps in, and what trainers and classes
 * call it. Names are those of the HF Trainer's `optim` where it has one.
 */

type Bounds = readonly [low: number, high: number];

/** How its step is written, which decides how many kernels it launches per tensor and how many bytes it moves. */
interface Step {
  /** Kernels per trained tensor. */
  readonly launches: Bounds;
  /** Bytes per trained float32 parameter: gradients and states read, states and weights written. */
  readonly traffic: Bounds;
}

const FEW: Bounds = [0.02, 0.4];
const ADAM: Bounds = [26, 36];
const ONE_STATE: Bounds = [16, 40];

/** Multi-tensor and fused forms launch a few kernels for all tensors. */
const FUSED: Step = { launches: FEW, traffic: ADAM };
/** AdamW as torch's foreach lists have it: each operation goes over all states. */
const FOREACH: Step = { launches: FEW, traffic: [44, 80] };
const FOREACH_ONE: Step = { launches: FEW, traffic: ONE_STATE };
/** A loop of one operation after the other for each tensor (transformers/optimization.py, AdamW). */
const LOOP: Step = { launches: [7, 12], traffic: ADAM };
const FACTORED: Step = { launches: [18, 30], traffic: [40, 80] };
/** bitsandbytes: one kernel a tensor, with a good deal of Python around it. */
const ONE_KERNEL: Step = { launches: [1, 6], traffic: ADAM };
const ONE_KERNEL_8BIT: Step = { launches: [1, 6], traffic: [14, 22] };
const ONE_KERNEL_ONE: Step = { launches: [1, 6], traffic: ONE_STATE };
const PYTHON: Step = { launches: [15, 50], traffic: ADAM };
const PYTHON_ONE: Step = { launches: [15, 50], traffic: ONE_STATE };
/** L-BFGS: a few kernels for one vector, over each of 10 to 100 pairs of them, up to 20 times (torch/optim/lbfgs.py). */
const MANY_PASSES: Step = { launches: FEW, traffic: [400, 80_000] };
const LOW_RANK: Step = { launches: [15, 50], traffic: [30, 120] };

/** A state of a parameter: in the parameter's own dtype, or a copy of it (`clone`). */
export type OptimizerState = "zeros_like" | "clone";

/** Ways of stepping that optimizers share, each with what tells one optimizer from another. */
export interface Ways {
  /** A class of torch.optim. `bare`: it is given none of `optim_args`, as the Trainer makes it. */
  torch: { readonly rule: TorchRuleName; readonly fused?: true; readonly foreach?: false; readonly bare?: true };
  /** Muon over the matrices of the repeated layers, AdamW over the rest. */
  muon: object;
  /** States that one kernel a tensor updates; `firstRows`: moments that share the first buffer. */
  bitsandbytes: {
    readonly bits: 8 | 32;
    readonly states: 1 | 2;
    readonly firstRows?: 2;
    readonly paged?: true;
  };
  /**
   * Told wholly by the row: states of each parameter, and temporaries under the names that Python gives them, which stay until the
   * name is given away. `lists`: of all parameters of a group at once; otherwise of one after the other.
   */
  told: {
    readonly states: readonly OptimizerState[];
    readonly temporaries: readonly (readonly [name: string, operator: string])[];
    readonly lists?: true;
  };
  torchao: { readonly bits: 4 | 8 };
  lomo: { readonly adaptive: boolean };
  /** Moments of projected gradients; `inner` is what they are those of. */
  "low-rank": { readonly method: "galore" | "apollo"; readonly inner: "adamw" | "adamw8bit" | "adafactor" };
  adafactor: object;
  "adam-mini": object;
  "any-precision": object;
  "stable-adamw": object;
  grokadamw: object;
  lbfgs: object;
}

export type TorchRuleName =
  | "adam"
  | "adamw"
  | "adamax"
  | "nadam"
  | "radam"
  | "sgd"
  | "rmsprop"
  | "adagrad"
  | "adadelta"
  | "rprop"
  | "asgd"
  | "adafactor_torch";

/** One way with its options. */
export type Stepping = { readonly [Way in keyof Ways]: { readonly way: Way } & Ways[Way] }[keyof Ways];

export interface OptimizerRow {
  readonly by: Stepping;
  readonly step: Step;
  /** Bits of an element of its states, where they are packed. */
  readonly bits?: 4 | 8;
  /** It steps inside backward and lets each gradient go there, so that nothing can be accumulated. */
  readonly inBackward?: true;
  /** One optimizer for every layer, which several GPUs are refused (transformers/trainer_optimizer.py). */
  readonly layerwise?: true;
  /** It projects the gradients of chosen modules, which it must be told (`optim_target_modules`). */
  readonly projects?: true;
  /** It is given every parameter in the model's order, in one group (`model.named_parameters()`). */
  readonly oneGroup?: true;
  /** The decay is added to the gradient, in a list of temporaries (torch/optim/{sgd,rmsprop,adagrad,adam}.py). */
  readonly decaysGradient?: true;
  /** What it remembers grows with the steps, up to a size that it is told. */
  readonly remembers?: true;
  /** AdamW with two states of the weights' dtype: what 8-bit forms and Adafactor replace. */
  readonly adamw?: true;
  /** Package that it comes from, where that is not torch or transformers. */
  readonly package?: string;
  /** The Trainer's `optim` has the name (transformers/training_args.py, OptimizerNames). */
  readonly trainer?: true;
  /** Other names: of other trainers, and of forms with the same states and step. */
  readonly aliases?: readonly string[];
  /** Names of the aliases that the Trainer's `optim` has, too. */
  readonly trainerAliases?: readonly string[];
  /** Classes that loops of one's own make it with. */
  readonly classes?: readonly string[];
  /** Classes by their whole paths, as configs name what they build; the first is how it is written. */
  readonly paths?: readonly string[];
}

const TRAINER = { trainer: true } as const;
const BITSANDBYTES = { ...TRAINER, package: "bitsandbytes" } as const;
const EIGHT = { ...BITSANDBYTES, step: ONE_KERNEL_8BIT, bits: 8 } as const;
const DECAYS = { decaysGradient: true } as const;
/** schedulefree 1.4 (adamw_schedulefree.py, radam_schedulefree.py): the point `z` beside the parameter, a list of denominators. */
const SCHEDULE_FREE = {
  ...TRAINER,
  step: PYTHON,
  by: { way: "told", states: ["clone", "zeros_like"], temporaries: [["denom", "_foreach_div"]], lists: true },
  package: "schedulefree",
} as const;
const GALORE = { ...TRAINER, projects: true, package: "galore-torch" } as const;
const APOLLO = { ...TRAINER, projects: true, package: "apollo-torch" } as const;
const LAYERWISE = { inBackward: true, layerwise: true } as const;
const LOMO = { ...TRAINER, step: FUSED, inBackward: true, package: "lomo-optim" } as const;

const bitsandbytes = (...classes: string[]): string[] => classes.map((name) => `bitsandbytes.optim.${name}`);
/** Its optimizers left the prototypes with 0.9. */
const torchao = (name: string): string[] => [`torchao.optim.${name}`, `torchao.prototype.low_bit_optim.${name}`];

export const OPTIMIZER_ROWS = {
  adamw_torch: {
    ...TRAINER,
    by: { way: "torch", rule: "adamw", bare: true },
    step: FOREACH,
    adamw: true,
    paths: ["torch.optim.AdamW", "torch.optim.Adam"],
  },
  adamw_torch_fused: {
    ...TRAINER,
    by: { way: "torch", rule: "adamw", bare: true, fused: true },
    step: FUSED,
    adamw: true,
    aliases: ["optimi_adamw"],
    trainerAliases: ["adamw_torch_xla", "adamw_torch_npu_fused", "adamw_apex_fused"],
    classes: ["FusedAdam", "DeepSpeedCPUAdam"],
  },
  adafactor: { ...TRAINER, by: { way: "adafactor" }, step: FACTORED },
  adamw_anyprecision: { ...TRAINER, by: { way: "any-precision" }, step: LOOP, package: "torchdistx" },
  adamw_torch_4bit: {
    ...TRAINER,
    by: { way: "torchao", bits: 4 },
    step: FUSED,
    bits: 4,
    package: "torchao",
    aliases: ["ao_adamw_4bit"],
    paths: torchao("AdamW4bit"),
  },
  adamw_torch_8bit: {
    ...TRAINER,
    by: { way: "torchao", bits: 8 },
    step: ONE_KERNEL_8BIT,
    bits: 8,
    package: "torchao",
    aliases: ["ao_adamw_8bit"],
    paths: torchao("AdamW8bit"),
  },
  ademamix: { ...BITSANDBYTES, by: { way: "bitsandbytes", bits: 32, states: 2, firstRows: 2 }, step: PYTHON },
  sgd: {
    ...TRAINER,
    ...DECAYS,
    by: { way: "torch", rule: "sgd" },
    step: FOREACH_ONE,
    classes: ["SGD"],
    paths: ["torch.optim.SGD"],
  },
  adagrad: {
    ...TRAINER,
    ...DECAYS,
    by: { way: "torch", rule: "adagrad" },
    step: FOREACH_ONE,
    classes: ["Adagrad"],
    paths: ["torch.optim.Adagrad"],
  },
  adamw_bnb_8bit: {
    ...EIGHT,
    by: { way: "bitsandbytes", bits: 8, states: 2 },
    classes: ["AdamW8bit", "Adam8bit"],
    paths: bitsandbytes("AdamW8bit"),
  },
  adamw_8bit: { ...EIGHT, by: { way: "bitsandbytes", bits: 8, states: 2 } },
  ademamix_8bit: { ...EIGHT, by: { way: "bitsandbytes", bits: 8, states: 2, firstRows: 2 } },
  lion_8bit: {
    ...EIGHT,
    by: { way: "bitsandbytes", bits: 8, states: 1 },
    classes: ["Lion8bit"],
    paths: bitsandbytes("Lion8bit"),
  },
  lion_32bit: {
    ...BITSANDBYTES,
    by: { way: "bitsandbytes", bits: 32, states: 1 },
    step: ONE_KERNEL_ONE,
    classes: ["Lion"],
    paths: bitsandbytes("Lion"),
  },
  paged_adamw_32bit: {
    ...BITSANDBYTES,
    by: { way: "bitsandbytes", bits: 32, states: 2, paged: true },
    step: ONE_KERNEL,
    classes: ["PagedAdamW32bit", "PagedAdamW"],
    paths: bitsandbytes("PagedAdamW", "PagedAdamW32bit"),
  },
  paged_adamw_8bit: {
    ...EIGHT,
    by: { way: "bitsandbytes", bits: 8, states: 2, paged: true },
    classes: ["PagedAdamW8bit"],
    paths: bitsandbytes("PagedAdamW8bit"),
  },
  paged_ademamix_32bit: {
    ...BITSANDBYTES,
    by: { way: "bitsandbytes", bits: 32, states: 2, firstRows: 2, paged: true },
    step: ONE_KERNEL,
  },
  paged_ademamix_8bit: { ...EIGHT, by: { way: "bitsandbytes", bits: 8, states: 2, firstRows: 2, paged: true } },
  paged_lion_32bit: {
    ...BITSANDBYTES,
    by: { way: "bitsandbytes", bits: 32, states: 1, paged: true },
    step: ONE_KERNEL_ONE,
    paths: bitsandbytes("PagedLion"),
  },
  paged_lion_8bit: {
    ...EIGHT,
    by: { way: "bitsandbytes", bits: 8, states: 1, paged: true },
    classes: ["PagedLion8bit"],
    paths: bitsandbytes("PagedLion8bit"),
  },
  rmsprop: {
    ...TRAINER,
    ...DECAYS,
    by: { way: "torch", rule: "rmsprop" },
    step: FOREACH_ONE,
    aliases: ["rmsprop_torch"],
    classes: ["RMSprop"],
    paths: ["torch.optim.RMSprop"],
  },
  rmsprop_bnb: { ...BITSANDBYTES, by: { way: "bitsandbytes", bits: 32, states: 1 }, step: FOREACH_ONE },
  rmsprop_bnb_8bit: { ...EIGHT, by: { way: "bitsandbytes", bits: 8, states: 1 } },
  rmsprop_bnb_32bit: { ...BITSANDBYTES, by: { way: "bitsandbytes", bits: 32, states: 1 }, step: FOREACH_ONE },
  galore_adamw: { ...GALORE, by: { way: "low-rank", method: "galore", inner: "adamw" }, step: LOW_RANK },
  galore_adamw_8bit: {
    ...GALORE,
    by: { way: "low-rank", method: "galore", inner: "adamw8bit" },
    step: ONE_KERNEL_8BIT,
    bits: 8,
  },
  galore_adafactor: { ...GALORE, by: { way: "low-rank", method: "galore", inner: "adafactor" }, step: FACTORED },
  galore_adamw_layerwise: {
    ...GALORE,
    ...LAYERWISE,
    by: { way: "low-rank", method: "galore", inner: "adamw" },
    step: LOW_RANK,
  },
  galore_adamw_8bit_layerwise: {
    ...GALORE,
    ...LAYERWISE,
    by: { way: "low-rank", method: "galore", inner: "adamw8bit" },
    step: ONE_KERNEL_8BIT,
    bits: 8,
  },
  galore_adafactor_layerwise: {
    ...GALORE,
    ...LAYERWISE,
    by: { way: "low-rank", method: "galore", inner: "adafactor" },
    step: FACTORED,
  },
  lomo: { ...LOMO, by: { way: "lomo", adaptive: false } },
  adalomo: { ...LOMO, by: { way: "lomo", adaptive: true } },
  grokadamw: { ...TRAINER, by: { way: "grokadamw" }, step: PYTHON, package: "grokadamw" },
  schedule_free_radam: { ...SCHEDULE_FREE, classes: ["RAdamScheduleFree"] },
  schedule_free_adamw: { ...SCHEDULE_FREE, classes: ["AdamWScheduleFree"] },
  schedule_free_sgd: {
    ...SCHEDULE_FREE,
    by: { way: "told", states: ["clone"], temporaries: [], lists: true },
    step: PYTHON_ONE,
    classes: ["SGDScheduleFree"],
  },
  apollo_adamw: { ...APOLLO, by: { way: "low-rank", method: "apollo", inner: "adamw" }, step: LOW_RANK },
  apollo_adamw_layerwise: {
    ...APOLLO,
    ...LAYERWISE,
    by: { way: "low-rank", method: "apollo", inner: "adamw" },
    step: LOW_RANK,
  },
  stable_adamw: { ...TRAINER, by: { way: "stable-adamw" }, step: PYTHON, package: "torch-optimi" },
  // Beyond the Trainer's names.
  adam: { ...DECAYS, by: { way: "torch", rule: "adam" }, step: FUSED, classes: ["Adam"] },
  adamw: { by: { way: "torch", rule: "adamw" }, step: FUSED, classes: ["AdamW"] },
  adamax: { ...DECAYS, by: { way: "torch", rule: "adamax" }, step: FUSED, classes: ["Adamax"] },
  nadam: { by: { way: "torch", rule: "nadam" }, step: FUSED, classes: ["NAdam"] },
  radam: { by: { way: "torch", rule: "radam" }, step: FUSED, classes: ["RAdam"] },
  adadelta: { ...DECAYS, by: { way: "torch", rule: "adadelta" }, step: FUSED, classes: ["Adadelta"] },
  rprop: { by: { way: "torch", rule: "rprop" }, step: FUSED, classes: ["Rprop"] },
  asgd: { ...DECAYS, by: { way: "torch", rule: "asgd" }, step: FOREACH_ONE, classes: ["ASGD"] },
  lbfgs: {
    by: { way: "lbfgs" },
    oneGroup: true,
    remembers: true,
    step: MANY_PASSES,
    classes: ["LBFGS"],
    paths: ["torch.optim.LBFGS"],
  },
  adafactor_torch: { by: { way: "torch", rule: "adafactor_torch" }, step: FACTORED },
  muon: { by: { way: "muon" }, step: LOW_RANK, classes: ["Muon"] },
  adamw_for_loop: { by: { way: "torch", rule: "adamw", bare: true, foreach: false }, step: LOOP },
  adamw_hf: {
    by: { way: "told", states: ["zeros_like", "zeros_like"], temporaries: [["denom", "sqrt"]] },
    step: LOOP,
    adamw: true,
  },
  paged_adamw: {
    by: { way: "bitsandbytes", bits: 32, states: 2, paged: true },
    step: ONE_KERNEL,
    package: "bitsandbytes",
  },
  lion: { by: { way: "bitsandbytes", bits: 32, states: 1 }, step: ONE_KERNEL_ONE, package: "bitsandbytes" },
  paged_lion: {
    by: { way: "bitsandbytes", bits: 32, states: 1, paged: true },
    step: ONE_KERNEL_ONE,
    package: "bitsandbytes",
  },
  adam_mini: { by: { way: "adam-mini" }, oneGroup: true, step: FUSED, package: "adam-mini" },
} as const satisfies Readonly<Record<string, OptimizerRow>>;

export type OptimizerName = keyof typeof OPTIMIZER_ROWS;

const ROWS: Readonly<Record<string, OptimizerRow>> = OPTIMIZER_ROWS;

/** Rows by the names that each selects. */
function byNames(
  names: (row: OptimizerRow, name: string) => readonly string[],
): Readonly<Record<string, OptimizerName>> {
  return Object.fromEntries(
    Object.entries(ROWS).flatMap(([name, row]) => names(row, name).map((other) => [other, name as OptimizerName])),
  );
}

const BY_NAME = byNames((row, name) => [name, ...(row.aliases ?? []), ...(row.trainerAliases ?? [])]);

/** Optimizer classes by the name of the optimizer with the same states and step. */
export const OPTIMIZER_CLASSES = byNames(({ classes }) => classes ?? []);

/** Classes by their whole paths (`torch.optim.AdamW`). */
export const OPTIMIZER_PATHS = byNames(({ paths }) => paths ?? []);

/** Names that the Trainer's `optim` accepts (transformers `OptimizerNames`, 5.17, and the one 4.x had more). */
export const TRAINER_OPTIMIZERS: readonly string[] = Object.entries(ROWS).flatMap(([name, row]) =>
  row.trainer === true ? [name, ...(row.trainerAliases ?? [])] : [],
);

/** The name of the row that a written name stands for; undefined where none does. */
export function optimizerNamed(written: string): OptimizerName | undefined {
  return Object.hasOwn(BY_NAME, written) ? BY_NAME[written] : undefined;
}

/** The row of a written name. */
export function optimizerRow(written: string): OptimizerRow | undefined {
  const name = optimizerNamed(written);
  return name === undefined ? undefined : ROWS[name];
}

/** How an optimizer nobody knows is taken to step. */
export const USUAL_STEP: Step = FUSED;
