// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the samples are shell text
/** Misspelt keys are said with what was probably meant; keys that a library takes, and launchers' options, never are. */
import { strict as assert } from "node:assert";
import { FORMATS, recogniseFormat } from "../../src/formats";
import accelerate from "../../src/formats/accelerate/accepted.json";
import axolotl from "../../src/formats/axolotl/accepted.json";
import gptNeox from "../../src/formats/gpt-neox/accepted.json";
import { LAUNCHER_OPTIONS } from "../../src/formats/launchers/options";
import megatron from "../../src/formats/megatron/accepted.json";
import msSwift from "../../src/formats/ms-swift/accepted.json";
import { parseDocument } from "../../src/formats/parse";
import { nearest } from "../../src/formats/suggest";
import ultralytics from "../../src/formats/ultralytics/accepted.json";

function unknown(name: string, text: string): readonly (readonly [string, unknown])[] {
  const document = parseDocument(`file:///w/${name}`, text);
  assert.ok(document);
  const recognised = recogniseFormat(document);
  assert.ok(recognised, `${name} is not recognised`);
  return recognised.format
    .read(document)
    .problems.filter(({ code }) => code === "unknown-key")
    .map(({ start, end, message }) => [document.text.slice(start, end), message.args["near"]]);
}

/** A config of each format, to which one key is added. */
const BASES: readonly (readonly [string, readonly string[], string])[] = [
  ["axolotl", axolotl.names, "base_model: a/b\nmicro_batch_size: 1\ndatasets: []\nsequence_len: 512\n"],
  [
    "accelerate",
    accelerate.names,
    "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 2\n",
  ],
  ["ms-swift", msSwift.names, "model: a/b\ndataset: c\ntuner_type: lora\nmax_length: 512\n"],
  [
    "gpt-neox",
    gptNeox.names,
    "num_layers: 2\nhidden_size: 8\nnum_attention_heads: 2\nseq_length: 16\npipe_parallel_size: 1\n",
  ],
  ["ultralytics", ultralytics.names, "task: detect\nmode: train\nimgsz: 640\nbatch: 4\n"],
];

describe("formats: misspelt keys", () => {
  it("are said with what was meant", () => {
    const [axolotl, accelerate, swift, neox, yolo] = BASES.map(([, , text]) => text);
    // As it stands in axolotl's own examples (falcon-h1-1b-qlora-cp.yaml).
    assert.deepEqual(unknown("a.yaml", `${axolotl}context_parapllel_size: 2\n`), [
      ["context_parapllel_size", "context_parallel_size"],
    ]);
    assert.deepEqual(unknown("b.yaml", `${accelerate}mixed_precison: bf16\n`), [["mixed_precison", "mixed_precision"]]);
    assert.deepEqual(unknown("c.yaml", `${swift}gradient_acumulation_steps: 2\n`), [
      ["gradient_acumulation_steps", "gradient_accumulation_steps"],
    ]);
    assert.deepEqual(unknown("d.yml", `${neox}train_micro_batch_size_per_gpus: 2\n`), [
      ["train_micro_batch_size_per_gpus", "train_micro_batch_size_per_gpu"],
    ]);
    assert.deepEqual(unknown("e.yaml", `${yolo}multi_scales: true\n`), [["multi_scales", "multi_scale"]]);
    assert.deepEqual(
      unknown(
        "f.sh",
        "torchrun --nproc_per_node 8 --node_rank 0 pretrain_gpt.py --num-layers 2 --hidden-size 8 --micro-batch-size 1 --tensor-model-paralel-size 2 --pipeline-model-parallel-size 1 --seq-length 16\n",
      ),
      [["--tensor-model-paralel-size", "tensor_model_parallel_size"]],
    );
  });

  it("are said in any block of nested configs, and in what a command overrides", () => {
    // Patterns of each framework's own examples, a letter changed.
    const table: readonly (readonly [string, string, string, string])[] = [
      [
        "a.yaml",
        "data:\n  train_batch_size: 8\nactor_rollout_ref:\n  actor:\n    ppo_micro_batch_size_per_gpus: 2\n",
        "ppo_micro_batch_size_per_gpus",
        "ppo_micro_batch_size_per_gpu",
      ],
      [
        "b.sh",
        "python3 -m verl.trainer.main_ppo data.train_batch_size=8 actor_rollout_ref.model.enable_gradient_checkpoint=True\n",
        "actor_rollout_ref.model.enable_gradient_checkpoint",
        "enable_gradient_checkpointing",
      ],
      [
        "c.yaml",
        "trainer:\n  devices: 8\nmodel:\n  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 1\n  micro_batchsize: 4\n",
        "micro_batchsize",
        "micro_batch_size",
      ],
      [
        "d.yaml",
        "model:\n  _component_: torchtune.models.llama3_2.llama3_2_1b\nbatch_size: 2\nenable_activation_checkpoint: True\n",
        "enable_activation_checkpoint",
        "enable_activation_checkpointing",
      ],
      [
        "e.toml",
        '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batchsize = 2\nseq_len = 8192\n',
        "local_batchsize",
        "local_batch_size",
      ],
      [
        "f.yaml",
        "checkpoint_dir: checkpoints/a/b\nout_dir: out\nprecision: bf16-true\nquantize: bnb.nf4\nlora_r: 8\nlora_query: true\nlora_value: true\ntrain:\n  global_batch_size: 8\n  max_seq_length: 512\n  epochs: 2\n  micro_batch_sze: 1\n",
        "micro_batch_sze",
        "micro_batch_size",
      ],
    ];
    for (const [name, text, written, meant] of table) assert.deepEqual(unknown(name, text), [[written, meant]], name);
  });

  it("are no other names of the same pattern", () => {
    assert.equal(nearest("min_duration", ["max_duration"]), undefined);
    assert.equal(nearest("hf_weight_decay", ["weight_decay"]), undefined);
    assert.equal(nearest("n_layers", ["num_layers"]), undefined);
    assert.equal(nearest("batchsize", ["batch_size"]), "batch_size");
  });

  it("are not those the library takes", () => {
    for (const [id, accepted, base] of BASES) {
      const document = (key: string) => parseDocument(`file:///w/${id}.yaml`, `${base}${key}: 1\n`);
      const format = FORMATS.find((candidate) => candidate.id === id && candidate.carrier === undefined);
      const wrong = [...accepted].filter((key) => {
        const parsed = document(key);
        return parsed !== undefined && format?.read(parsed).problems.some(({ code }) => code === "unknown-key");
      });
      assert.deepEqual(wrong, [], id);
    }
  });

  it("are not the launcher's options or the library's flags", () => {
    const flags = (names: Iterable<string>) => [...names].map((name) => `--${name} 1`).join(" ");
    const command = "pretrain_gpt.py --num-layers 2 --hidden-size 8 --micro-batch-size 1 --seq-length 16";
    assert.deepEqual(unknown("a.sh", `torchrun ${flags(LAUNCHER_OPTIONS)} ${command} ${flags(megatron.names)}\n`), []);
    assert.deepEqual(
      unknown("b.sh", `NPROC_PER_NODE=2 swift sft ${flags(LAUNCHER_OPTIONS)} ${flags(msSwift.names)}\n`),
      [],
    );
  });
});
