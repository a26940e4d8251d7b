/**
 * llm-foundry's benchmark of MPT: runs that ran, on cards that are said, without their memory. A group is a table's card, what FSDP and
 * checkpointing do, and its runs as `model: tokens × cards × micro-batch × accumulation`.
 */
import { withPins } from "./documents";
import type { PublishedOutcome } from "./types";

/** hidden, layers, heads (scripts/train/yamls/pretrain). */
export const MPT: Readonly<Record<string, readonly [number, number, number]>> = {
  "125m": [768, 12, 12],
  "350m": [1024, 24, 16],
  "760m": [1536, 24, 12],
  "1b": [2048, 24, 16],
  "3b": [2560, 32, 20],
  "7b": [4096, 32, 32],
  "13b": [5120, 40, 40],
  "30b": [7168, 48, 56],
  "70b": [8192, 80, 64],
};

interface Group {
  readonly card: string;
  readonly precision: "amp_bf16" | "amp_fp8";
  /** `mixed_precision` of Composer's FSDP. */
  readonly mixed: "DEFAULT" | "PURE";
  readonly sharding: "FULL_SHARD" | "SHARD_GRAD_OP";
  readonly checkpointing: boolean;
  readonly runs: string;
}

const GROUPS: readonly Group[] = [
  {
    card: "H100",
    precision: "amp_bf16",
    mixed: "DEFAULT",
    sharding: "FULL_SHARD",
    checkpointing: true,
    runs: `
      70b: 2048×512×8×1 2048×256×8×1 2048×128×8×1 2048×64×8×4 2048×32×2×16
      30b: 2048×512×8×1 2048×256×8×1 2048×128×8×1 8192×8×1×21 4096×8×1×21 2048×32×14×3 2048×16×10×3 2048×8×3×21
        1024×8×6×21
      13b: 2048×512×16×1 2048×256×16×1 2048×128×16×1 32768×8×1×3 16384×8×3×3 4096×8×10×3 1024×8×40×3
      7b: 65536×8×1×2 32768×8×2×2 8192×8×8×2 4096×8×16×2 1024×8×64×2
      3b: 65536×8×1×2 32768×8×3×6
      1b: 65536×8×1×2
    `,
  },
  {
    card: "H100",
    precision: "amp_bf16",
    mixed: "DEFAULT",
    sharding: "FULL_SHARD",
    checkpointing: false,
    runs: `
      7b: 2048×512×6×1 2048×256×6×1 2048×128×6×1 2048×8×6×1
      13b: 2048×64×2×1 2048×32×2×1 2048×16×2×1 2048×8×2×1
      3b: 16384×8×1×6 8192×8×3×6 4096×8×5×6 2048×64×6×3 2048×32×6×3 2048×16×10×3 1024×8×20×6 512×8×40×6
      1b: 32768×8×1×4 16384×8×2×4 8192×8×3×4 4096×8×7×4 2048×64×20×1 2048×32×20×1 2048×16×20×1 2048×8×14×1
        1024×8×18×4 512×8×56×4
      760m: 32768×8×1×2 16384×8×3×2 8192×8×6×2 4096×8×12×2 2048×32×24×1 2048×16×24×1 2048×8×24×2 1024×8×48×2
        512×8×96×2
    `,
  },
  {
    card: "H100",
    precision: "amp_bf16",
    mixed: "DEFAULT",
    sharding: "SHARD_GRAD_OP",
    checkpointing: false,
    runs: `
      3b: 2048×512×8×1 2048×256×8×1 2048×128×8×1
      1b: 2048×512×12×1 2048×256×12×1 2048×128×12×1
    `,
  },
  {
    card: "H100",
    precision: "amp_fp8",
    mixed: "DEFAULT",
    sharding: "FULL_SHARD",
    checkpointing: true,
    runs: `
      3b: 32768×8×3×6
    `,
  },
  {
    card: "H100",
    precision: "amp_fp8",
    mixed: "DEFAULT",
    sharding: "FULL_SHARD",
    checkpointing: false,
    runs: `
      3b: 8192×8×3×6 2048×8×10×6 512×8×40×6
      1b: 32768×8×1×4 8192×8×2×4 512×8×56×4
    `,
  },
  {
    card: "A100-80GB",
    precision: "amp_bf16",
    mixed: "PURE",
    sharding: "FULL_SHARD",
    checkpointing: true,
    runs: `
      70b: 2048×64×8×4 2048×32×2×16
    `,
  },
  {
    card: "A100-80GB",
    precision: "amp_bf16",
    mixed: "DEFAULT",
    sharding: "FULL_SHARD",
    checkpointing: true,
    runs: `
      30b: 8192×8×1×21 4096×8×1×21 2048×8×3×21 1024×8×6×21 512×8×12×21
      13b: 32768×8×1×3 16384×8×3×3 8192×8×5×3 4096×8×10×3 1024×8×40×3
      7b: 65536×8×1×2 32768×8×2×2 16384×8×4×2 8192×8×8×2 4096×8×16×2 1024×8×64×2
      3b: 65536×8×1×2 32768×8×3×6
      1b: 65536×8×1×2
      760m: 65536×8×1×2
    `,
  },
  {
    card: "A100-80GB",
    precision: "amp_bf16",
    mixed: "DEFAULT",
    sharding: "FULL_SHARD",
    checkpointing: false,
    runs: `
      13b: 2048×8×2×3
      7b: 2048×8×6×2
      3b: 16384×8×1×6 8192×8×3×6 4096×8×5×6 2048×8×10×2 1024×8×20×6 512×8×40×6
      1b: 32768×8×1×4 16384×8×2×4 8192×8×3×4 4096×8×7×4 2048×8×14×4 1024×8×18×4 512×8×56×4
      760m: 32768×8×1×2 16384×8×3×2 8192×8×6×2 4096×8×12×2 2048×8×24×2 1024×8×48×2 512×8×96×2
      350m: 65536×8×1×2 32768×8×2×2 16384×8×4×2 8192×8×8×2 4096×8×16×2 2048×8×32×2 1024×8×64×2 512×8×128×2
      125m: 65536×8×1×2 32768×8×2×2 16384×8×4×2 8192×8×8×2 4096×8×16×2 2048×8×40×2 2048×8×32×2 1024×8×64×2
        512×8×128×2
    `,
  },
  {
    card: "A100-40GB",
    precision: "amp_bf16",
    mixed: "PURE",
    sharding: "FULL_SHARD",
    checkpointing: true,
    runs: `
      70b: 2048×128×4×1 2048×64×2×1
      30b: 2048×128×6×1 2048×32×4×1
      13b: 8192×8×1×16 4096×8×2×16 2048×128×16×1 2048×64×16×1 2048×32×14×1 2048×16×10×1 2048×8×4×16 1024×8×8×16
        512×8×16×16
      7b: 16384×8×1×4 8192×8×3×4 4096×8×6×4 2048×128×18×1 2048×64×18×1 2048×32×18×1 2048×16×16×1 2048×8×12×4
        1024×8×24×4 512×8×48×4
      3b: 32768×8×1×4 16384×8×2×8
      1b: 32768×8×1×4
      760m: 32768×8×1×4
    `,
  },
  {
    card: "A100-40GB",
    precision: "amp_bf16",
    mixed: "PURE",
    sharding: "FULL_SHARD",
    checkpointing: false,
    runs: `
      3b: 8192×8×1×8 4096×8×2×8 2048×128×6×1 2048×64×6×1 2048×32×6×1 2048×16×5×1 2048×8×5×8 1024×8×10×8 512×8×20×8
      1b: 16384×8×1×8 8192×8×2×8 4096×8×4×8 2048×128×10×1 2048×64×10×1 2048×32×10×1 2048×16×8×1 2048×8×8×8
        1024×8×16×8 512×8×32×8
      760m: 16384×8×1×4 8192×8×3×4 4096×8×6×4 2048×128×12×1 2048×64×12×1 2048×32×12×1 2048×16×12×1 2048×8×12×4
        1024×8×24×4 512×8×48×4
      350m: 32768×8×1×4 16384×8×2×4 8192×8×4×4 4096×8×8×4 2048×128×18×1 2048×64×18×1 2048×32×18×1 2048×16×18×1
        2048×8×16×4 1024×8×32×4 512×8×64×4
      125m: 32768×8×1×4 16384×8×2×3 8192×8×5×3 4096×8×13×3 2048×128×26×1 2048×64×26×1 2048×32×26×1 2048×16×26×1
        2048×8×26×3 1024×8×52×3 512×8×104×3
    `,
  },
];

function config(
  group: Group,
  model: string,
  [tokens = 0, cards = 0, micro = 0, rounds = 0]: readonly number[],
): string {
  const [hidden, layers, heads] = MPT[model] ?? [];
  return `max_seq_len: ${tokens}
model:
  name: mpt_causal_lm
  d_model: ${hidden}
  n_heads: ${heads}
  n_layers: ${layers}
  expansion_ratio: 4
  max_seq_len: ${tokens}
  vocab_size: 50368
  norm_type: low_precision_layernorm
  attn_config:
    attn_impl: flash
${group.precision === "amp_fp8" ? "  fc_type: te\n" : ""}optimizer:
  name: decoupled_adamw
algorithms:
  gradient_clipping:
    clipping_type: norm
    clipping_threshold: 1.0
max_duration: 30ba
global_train_batch_size: ${cards * micro * rounds}
device_train_microbatch_size: ${micro}
precision: ${group.precision}
fsdp_config:
  sharding_strategy: ${group.sharding}
  mixed_precision: ${group.mixed}
  activation_checkpointing: ${group.checkpointing}
  activation_checkpointing_reentrant: false
  activation_cpu_offload: false
  limit_all_gathers: true
`;
}

function outcomesOf(group: Group): readonly PublishedOutcome[] {
  let model = "";
  return group.runs
    .trim()
    .split(/\s+/)
    .flatMap((word): PublishedOutcome[] => {
      if (word.endsWith(":")) {
        model = word.slice(0, -1);
        return [];
      }
      const [tokens, cards = 1, micro, rounds] = word.split("×").map(Number);
      const how = [
        group.mixed === "PURE" ? "pure precision" : "",
        group.precision === "amp_fp8" ? "fp8" : "",
        group.sharding === "SHARD_GRAD_OP" ? "gradients sharded" : "",
        group.checkpointing ? "checkpointing" : "",
      ].filter((part) => part !== "");
      return [
        {
          source: "llm-foundry",
          run: [`MPT-${model} on ${cards} × ${group.card}`, ...how, `${micro} × ${tokens}, ${rounds} rounds`].join(
            ", ",
          ),
          documents: withPins("train.yaml", config(group, model, [tokens ?? 0, cards, micro ?? 0, rounds ?? 0]), {
            device: { name: group.card, count: cards },
          }),
          ran: true,
          assumed: ["llm-foundry"],
        },
      ];
    });
}

export const FOUNDRY_OUTCOMES: readonly PublishedOutcome[] = GROUPS.flatMap(outcomesOf);
