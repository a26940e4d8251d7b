// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the samples are shell text
/** Scripts that run or read other scripts, and configs whose format the command decides that starts a program on them. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

async function runsOf(files: Readonly<Record<string, string>>, path: string) {
  const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri(path), {});
  return analysis.runs.map((run) => ({
    formats: run.formats,
    documents: run.documents,
    value: (name: string) => run.settings.find((setting) => setting.name === name)?.value,
    id: run.id,
    analysis,
  }));
}

const RUN = {
  "job.slurm": `#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:a100:4
export BS=4
srun bash scripts/run.sh gpt2 2048
`,
  "scripts/run.sh": `source $(dirname $0)/env.sh
torchrun --nnodes \${SLURM_NNODES:-1} --nproc_per_node $GPUS train.py --model_name_or_path $1 --max_seq_length \${2:-1024} \\
  --per_device_train_batch_size $BS --save_strategy no --save_total_limit 1 --output_dir o --bf16 True --deepspeed $DS
`,
  "scripts/env.sh": "export GPUS=4\nDS=ds.json\n",
  "ds.json": '{"zero_optimization":{"stage":3},"bf16":{"enabled":true}}',
};

describe("analysis: scripts of scripts", () => {
  it("run with what their caller sets and gives them, in its job", async () => {
    const [run, more] = await runsOf(RUN, "job.slurm");
    assert.ok(run !== undefined && more === undefined);
    assert.deepEqual(["model", "sequence_length", "micro_batch_size", "world_size", "zero_stage"].map(run.value), [
      "gpt2",
      2048,
      4,
      8,
      3,
    ]);
    assert.deepEqual(run.documents, [uri("scripts/run.sh"), uri("ds.json"), uri("job.slurm")]);
  });

  it("take arrays of options from what they source, wherever the shell says that it is", async () => {
    const command = "ray job submit -- python3 train.py --colocate ${MODEL_ARGS[@]} ${RUN_ARGS[@]}\n";
    const files = {
      "run/go.sh": `HERE="$(cd -- "$(dirname -- "\${BASH_SOURCE[0]}")" &>/dev/null && pwd)"\nsource "\${HERE}/models/small.sh"\nRUN_ARGS=(--hf-checkpoint /m --rollout-batch-size 8 --use-dynamic-batch-size --max-tokens-per-gpu 4096 --context-parallel-size 2 --tensor-model-parallel-size 1 --pipeline-model-parallel-size 1 --actor-num-gpus-per-node 4 --global-batch-size 64)\n${command}`,
      "run/models/small.sh":
        "MODEL_ARGS=(\n  --swiglu\n  --num-layers 4\n  --hidden-size 256\n  --ffn-hidden-size 512\n  --moe-ffn-hidden-size 128\n  --num-experts 8\n  --moe-router-topk 2\n  --num-attention-heads 4\n  --vocab-size 1000\n)\n",
    };
    const [run] = await runsOf(files, "run/go.sh");
    const model = run?.analysis.runs[0]?.model;
    assert.deepEqual(
      ["micro_batch_size", "sequence_length", "world_size", "zero_stage"].map((name) => run?.value(name)),
      [1, 8192, 4, 1],
    );
    // Experts have a width of their own.
    assert.ok(model?.parameters != null && model.parameters < 6e6, String(model?.parameters));
  });

  it("are read by what they source, with what they set before", async () => {
    const files = {
      "run.sh":
        "GLOBAL=64\nsource setup.sh\npython train.py --model_name_or_path gpt2 --per_device_train_batch_size $EACH --output_dir o\n",
      "setup.sh": "N=${NUMBER:-8}\nEACH=$((GLOBAL / N))\n",
    };
    assert.equal((await runsOf(files, "run.sh"))[0]?.value("micro_batch_size"), 8);
  });

  it("name files behind folders that only the shell knows, and below those that they enter", async () => {
    const files = {
      "bin/run.sh": `cd "$(dirname $0)/../src"
ROOT=$(git rev-parse --show-toplevel)
DS=\${ROOT}/conf/z3.json
torchrun --nproc_per_node 8 app/train.py --model_name_or_path gpt2 --output_dir o --deepspeed $DS
`,
      "conf/z3.json": '{"zero_optimization":{"stage":3}}',
      "src/app/train.py": `from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
from dataclasses import dataclass
@dataclass
class Own(TrainingArguments):
    model_name_or_path: str = "gpt2"
    per_device_train_batch_size: int = 3
a = HfArgumentParser(Own).parse_args_into_dataclasses()[0]
Trainer(model=AutoModelForCausalLM.from_pretrained(a.model_name_or_path), args=a, train_dataset=ds).train()
`,
    };
    const [run] = await runsOf(files, "bin/run.sh");
    assert.deepEqual(
      ["zero_stage", "micro_batch_size", "world_size"].map((name) => run?.value(name)),
      [3, 3, 8],
    );
  });

  it("have the variables of what they source", async () => {
    const [run] = await runsOf(RUN, "scripts/run.sh");
    assert.deepEqual(
      ["world_size", "zero_stage", "sequence_length"].map((name) => run?.value(name)),
      [4, 3, 1024],
    );
  });

  it("are edited where they stand, and nothing where another file says it", async () => {
    const [run] = await runsOf(RUN, "job.slurm");
    const edited = run?.analysis.whatIfEdits(run.id, { gradient_checkpointing: "true" });
    assert.ok(edited != null && "edits" in edited);
    assert.deepEqual(
      edited.edits.map((edit) => edit.uri),
      [uri("scripts/run.sh")],
    );
    const refused = run?.analysis.whatIfEdits(run.id, { micro_batch_size: "2" });
    assert.ok(refused != null && ("refused" in refused || refused.edits.every((edit) => edit.newText !== "2")));
  });
});

describe("analysis: configs that a command names", () => {
  const files: Readonly<Record<string, readonly [command: string, config: string, format: string]>> = {
    axolotl: ["axolotl train x.yaml", "base_model: gpt2\nlearning_rate: 0.1\nadapter: lora\nlora_r: 8\n", "axolotl"],
    "llama-factory": [
      "FORCE_TORCHRUN=1 llamafactory-cli train x.yaml",
      "model_name_or_path: gpt2\nper_device_train_batch_size: 4\noutput_dir: o\nbf16: true\n",
      "llama-factory",
    ],
    torchtune: ["tune run lora_finetune_single_device --config x.yaml", "batch_size: 2\ndtype: bf16\n", "torchtune"],
    litgpt: ["litgpt finetune_lora --config x.yaml", "checkpoint_dir: checkpoints/gpt2\nlora_r: 8\n", "lightning"],
    trl: ["trl sft --config x.yaml", "model_name_or_path: gpt2\nlearning_rate: 0.1\n", "trl"],
  };
  for (const [name, [command, config, format]] of Object.entries(files)) {
    it(`are what the program reads: ${name}`, async () => {
      const workspace = { "run.sh": `${command}\n`, "x.yaml": config };
      const [run] = await runsOf(workspace, "x.yaml");
      assert.deepEqual(run?.formats, [format]);
      const ofScript = await runsOf(workspace, "run.sh");
      assert.ok(ofScript.some(({ documents }) => documents.includes(uri("x.yaml"))));
    });
  }

  it("stay what they are where a command gives them to a launcher", async () => {
    const workspace = {
      "run.sh": "accelerate launch --config_file ds.yaml -m axolotl.cli.train x.yaml\n",
      "ds.yaml":
        "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 2\nmixed_precision: bf16\n",
      "x.yaml": "base_model: gpt2\nlearning_rate: 0.1\n",
    };
    // The file is the launcher's own, and beside it stands the run that it starts: of the config that is trained, not of the script.
    const runs = await runsOf(workspace, "ds.yaml");
    assert.deepEqual(
      runs.map(({ id, formats }) => [id, formats]),
      [
        ["ds.yaml", ["accelerate"]],
        ["x.yaml", ["axolotl"]],
      ],
    );
    const [run] = await runsOf(workspace, "x.yaml");
    assert.equal(run?.value("world_size"), 2);
  });
});
