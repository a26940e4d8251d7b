/** Configs put together from several files: Hydra's defaults, OmegaConf's merge, FSDP options in a file of their own. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { DocumentAnalysis } from "../../src/analysis/analyzer";
import { LineIndex } from "../../src/analysis/documents/lines";
import { groupPath, packageHeader, packageOf } from "../../src/formats/hydra";
import { applyEdits } from "../../src/syntax/edit";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

type Files = Readonly<Record<string, string>>;

async function analyse(files: Files, main: string): Promise<DocumentAnalysis> {
  return createAnalyzer(memoryRuntime(files)).analyse(uri(main), {});
}

function setting(analysis: DocumentAnalysis, name: string) {
  const run = analysis.runs[0];
  assert.ok(run);
  return run.settings.find((candidate) => candidate.name === name);
}

/** Files after the edits that make the run say the settings. */
function edited(files: Files, analysis: DocumentAnalysis, set: Readonly<Record<string, string>>): Files {
  const run = analysis.runs[0];
  assert.ok(run);
  const result = analysis.whatIfEdits(run.id, set);
  assert.ok(result !== null && "edits" in result, JSON.stringify(result));
  return Object.fromEntries(
    Object.entries(files).map(([path, text]) => {
      const lines = new LineIndex(text);
      const edits = result.edits
        .filter((edit) => edit.uri === uri(path))
        .map(({ range, newText }) => ({
          start: lines.offset(range.start.line, range.start.character),
          end: lines.offset(range.end.line, range.end.character),
          newText,
        }));
      return [path, applyEdits(text, edits)];
    }),
  );
}

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: OmegaConf spells interpolations so
const LIGHTNING = {
  "configs/train.yaml":
    "defaults:\n  - _self_\n  - data: cifar\n  - trainer: gpu\n  - optional local: default\n  - override hydra/launcher: basic\n\ntrainer:\n  precision: 16-mixed\n  accumulate_grad_batches: 8\n",
  "configs/data/cifar.yaml": "_target_: src.data.CifarDataModule\nbatch_size: ${oc.env:BATCH,32}\nnum_workers: 4\n",
  "configs/trainer/default.yaml":
    "_target_: lightning.pytorch.trainer.Trainer\nmax_epochs: 10\naccelerator: cpu\ndevices: 1\naccumulate_grad_batches: 2\n",
  "configs/trainer/gpu.yaml": "defaults:\n  - default\n\naccelerator: gpu\ndevices: 4\n",
};

// biome-ignore-end lint/suspicious/noTemplateCurlyInString: as above

describe("analysis: composition", () => {
  it("reads the groups of a defaults list with their own places", async () => {
    const analysis = await analyse(LIGHTNING, "configs/train.yaml");
    const run = analysis.runs[0];
    assert.ok(run);
    assert.deepEqual(run.documents.toSorted(), Object.keys(LIGHTNING).map(uri).toSorted());
    const world = setting(analysis, "world_size");
    assert.equal(world?.value, 4);
    assert.equal(world?.uri, uri("configs/trainer/gpu.yaml"));
    assert.deepEqual(world?.range?.start, { line: 4, character: 9 });
    assert.equal(world?.from, "linked");
    const precision = setting(analysis, "compute_dtype");
    assert.equal(precision?.uri, uri("configs/train.yaml"));
    assert.equal(precision?.from, "document");
    assert.deepEqual(
      run.findings.filter(({ code }) => code === "missing-file" || code === "cyclic-link"),
      [],
    );
  });

  it("lets what stands later win: `_self_` first loses to the groups, last wins, and is last when not named", async () => {
    const first = await analyse(LIGHTNING, "configs/train.yaml");
    assert.equal(setting(first, "gradient_accumulation_steps")?.value, 2);
    assert.equal(setting(first, "gradient_accumulation_steps")?.uri, uri("configs/trainer/default.yaml"));
    const main = LIGHTNING["configs/train.yaml"].replace("  - _self_\n", "");
    const last = await analyse({ ...LIGHTNING, "configs/train.yaml": main }, "configs/train.yaml");
    assert.equal(setting(last, "gradient_accumulation_steps")?.value, 8);
    assert.equal(setting(last, "gradient_accumulation_steps")?.uri, uri("configs/train.yaml"));
  });

  it("takes the default of an environment variable, and knows nothing without one", async () => {
    assert.equal(setting(await analyse(LIGHTNING, "configs/train.yaml"), "micro_batch_size")?.value, 32);
    const data = LIGHTNING["configs/data/cifar.yaml"].replace(",32", "");
    const unknown = await analyse({ ...LIGHTNING, "configs/data/cifar.yaml": data }, "configs/train.yaml");
    assert.notEqual(setting(unknown, "micro_batch_size")?.from, "linked");
  });

  it("obeys overrides of later configs, and `# @package _global_`", async () => {
    const files = {
      ...LIGHTNING,
      "configs/train.yaml": "defaults:\n  - data: cifar\n  - trainer: default\n  - experiment: big\n  - _self_\n",
      "configs/experiment/big.yaml":
        "# @package _global_\n\ndefaults:\n  - override /trainer: gpu\n\ndata:\n  batch_size: 128\n",
    };
    const analysis = await analyse(files, "configs/train.yaml");
    assert.equal(setting(analysis, "world_size")?.value, 4);
    assert.equal(setting(analysis, "micro_batch_size")?.value, 128);
    assert.equal(setting(analysis, "micro_batch_size")?.uri, uri("configs/experiment/big.yaml"));
  });

  it("puts a group under the key after `@`, from folders beside its own (verl)", async () => {
    const files = {
      "config/ppo_trainer.yaml":
        "defaults:\n  - actor@actor_rollout_ref.actor: dp_actor\n  - _self_\n\nactor_rollout_ref:\n  model:\n    path: Qwen/Qwen2-7B\ntrainer:\n  n_gpus_per_node: 8\n  nnodes: 2\n",
      "config/actor/dp_actor.yaml":
        "defaults:\n  - ../optim@optim: fsdp\n  - ../engine@fsdp_config: fsdp\n  - actor\n  - _self_\n\n_target_: verl.workers.config.FSDPActorConfig\nstrategy: fsdp\n",
      "config/actor/actor.yaml": "ppo_micro_batch_size_per_gpu: 4\nstrategy: ???\n",
      "config/optim/fsdp.yaml": "lr: 1e-6\n",
      "config/engine/fsdp.yaml": "param_offload: false\noptimizer_offload: true\n",
    };
    const analysis = await analyse(files, "config/ppo_trainer.yaml");
    assert.equal(setting(analysis, "micro_batch_size")?.value, 4);
    assert.equal(setting(analysis, "micro_batch_size")?.uri, uri("config/actor/actor.yaml"));
    assert.equal(setting(analysis, "world_size")?.value, 16);
    assert.equal(setting(analysis, "fsdp")?.value, "full_shard");
    assert.equal(setting(analysis, "offload_optimizer")?.uri, uri("config/engine/fsdp.yaml"));
    const alone = await analyse(files, "config/actor/dp_actor.yaml");
    assert.equal(setting(alone, "micro_batch_size")?.value, 4);
  });

  it("finds a recipe's parent in the search path that the workspace has", async () => {
    const files = {
      "recipe/dapo/config/dapo_trainer.yaml":
        "hydra:\n  searchpath:\n    - file://verl/trainer/config\n\ndefaults:\n  - ppo_trainer\n  - _self_\n\ndata:\n  max_response_length: 2048\n",
      "verl/trainer/config/ppo_trainer.yaml":
        "data:\n  max_prompt_length: 512\n  max_response_length: 512\nactor_rollout_ref:\n  actor:\n    ppo_micro_batch_size_per_gpu: 2\n",
    };
    const analysis = await analyse(files, "recipe/dapo/config/dapo_trainer.yaml");
    assert.equal(setting(analysis, "sequence_length")?.value, 2560);
    assert.equal(setting(analysis, "micro_batch_size")?.from, "linked");
  });

  it("says which files are missing and where configs name each other in a circle", async () => {
    const gone = Object.fromEntries(Object.entries(LIGHTNING).filter(([path]) => !path.includes("cifar")));
    const found = (await analyse(gone, "configs/train.yaml")).runs[0]?.findings.find(
      ({ code }) => code === "missing-file",
    );
    assert.equal(found?.severity, "information");
    assert.equal(found?.uri, uri("configs/train.yaml"));
    assert.match(found?.message ?? "", /data\/cifar\.yaml/);
    const circle = { ...LIGHTNING, "configs/trainer/default.yaml": "defaults:\n  - gpu\n\nmax_epochs: 1\n" };
    const cyclic = (await analyse(circle, "configs/train.yaml")).runs[0]?.findings.find(
      ({ code }) => code === "cyclic-link",
    );
    assert.equal(cyclic?.uri, uri("configs/trainer/default.yaml"));
  });

  it("knows a config by its groups when it says nothing itself", async () => {
    const files = { ...LIGHTNING, "configs/base.yaml": "defaults:\n  - train\n\nseed: 1\n" };
    const analysis = await analyse(files, "configs/base.yaml");
    assert.deepEqual(analysis.runs[0]?.formats, ["lightning"]);
    assert.equal(setting(analysis, "world_size")?.value, 4);
  });

  it("links every included file", async () => {
    const analysis = await analyse(LIGHTNING, "configs/train.yaml");
    assert.deepEqual(
      analysis.links().map(({ target }) => target),
      [uri("configs/trainer/gpu.yaml"), uri("configs/data/cifar.yaml")],
    );
  });

  it("shows the run from the included file, whichever is open", async () => {
    const analysis = await analyse(LIGHTNING, "configs/trainer/gpu.yaml");
    assert.ok(analysis.runs.some((run) => run.id === "configs/train.yaml"));
    assert.ok(analysis.dependencies.includes(uri("configs/train.yaml")));
  });

  it("edits the file whose value wins", async () => {
    const analysis = await analyse(LIGHTNING, "configs/train.yaml");
    const after = edited(LIGHTNING, analysis, { gradient_accumulation_steps: "16", compute_dtype: "bf16" });
    assert.equal(
      after["configs/trainer/default.yaml"],
      LIGHTNING["configs/trainer/default.yaml"].replace("batches: 2", "batches: 16"),
    );
    assert.equal(after["configs/train.yaml"], LIGHTNING["configs/train.yaml"].replace("16-mixed", "bf16-mixed"));
    const again = await analyse(after, "configs/train.yaml");
    assert.equal(setting(again, "gradient_accumulation_steps")?.value, 16);
  });

  it("resolves interpolations across the files, and edits the definition", async () => {
    const files = {
      ...LIGHTNING,
      "configs/train.yaml": `${LIGHTNING["configs/train.yaml"]}batch: 12\n`,
      // biome-ignore lint/suspicious/noTemplateCurlyInString: OmegaConf spells interpolations so
      "configs/data/cifar.yaml": "_target_: src.data.CifarDataModule\nbatch_size: ${batch}\nnum_workers: 4\n",
    };
    const analysis = await analyse(files, "configs/train.yaml");
    const size = setting(analysis, "micro_batch_size");
    assert.equal(size?.value, 12);
    assert.equal(size?.uri, uri("configs/data/cifar.yaml"));
    const after = edited(files, analysis, { micro_batch_size: "6" });
    assert.equal(after["configs/train.yaml"], files["configs/train.yaml"].replace("batch: 12", "batch: 6"));
    assert.equal(after["configs/data/cifar.yaml"], files["configs/data/cifar.yaml"]);
  });

  it("puts a config over the ones it extends, each value with its place", async () => {
    const mm = {
      "configs/_base_/model.py":
        "model = dict(type='RCNN', backbone=dict(type='ResNet', depth=50, frozen_stages=1), neck=dict(type='FPN', out=256))\n",
      "configs/_base_/schedule.py":
        "train_dataloader = dict(batch_size=2)\noptim_wrapper = dict(type='OptimWrapper', optimizer=dict(type='SGD', lr=0.02))\n",
      "configs/det/rcnn.py":
        "_base_ = ['../_base_/model.py', '../_base_/schedule.py']\nmodel = dict(backbone=dict(depth=101))\noptim_wrapper = dict(_delete_=True, type='AmpOptimWrapper')\n",
      "configs/det/rcnn_big.py": "_base_ = './rcnn.py'\ntrain_dataloader = dict(batch_size=8)\n",
    };
    const places = (analysis: DocumentAnalysis, ...names: string[]) =>
      names.map((name) => {
        const found = setting(analysis, name);
        return [found?.value, found?.uri?.replace(uri(""), "")];
      });
    const rcnn = await analyse(mm, "configs/det/rcnn.py");
    assert.deepEqual(places(rcnn, "micro_batch_size", "compute_dtype", "optimizer"), [
      [2, "configs/_base_/schedule.py"],
      ["fp16", "configs/det/rcnn.py"],
      [undefined, undefined],
    ]);
    const big = await analyse(mm, "configs/det/rcnn_big.py");
    assert.deepEqual(places(big, "micro_batch_size", "compute_dtype"), [
      [8, "configs/det/rcnn_big.py"],
      ["fp16", "configs/det/rcnn.py"],
    ]);
    const loop = { ...mm, "configs/_base_/model.py": "_base_ = '../det/rcnn.py'\n" };
    assert.ok(
      (await analyse(loop, "configs/det/rcnn.py")).runs[0]?.findings.some(({ code }) => code === "cyclic-link"),
    );
    const d2 = {
      "configs/Base.yaml":
        "MODEL:\n  META_ARCHITECTURE: RCNN\nSOLVER:\n  IMS_PER_BATCH: 16\n  AMP:\n    ENABLED: true\n",
      "configs/coco/rcnn.yaml": '_BASE_: "../Base.yaml"\nMODEL:\n  RESNETS:\n    DEPTH: 101\nSOLVER:\n  MAX_ITER: 9\n',
    };
    assert.deepEqual(places(await analyse(d2, "configs/coco/rcnn.yaml"), "global_batch_size", "compute_dtype"), [
      [16, "configs/Base.yaml"],
      ["fp16", "configs/Base.yaml"],
    ]);
    const after = edited(d2, await analyse(d2, "configs/coco/rcnn.yaml"), { global_batch_size: "8" });
    assert.equal(after["configs/Base.yaml"], d2["configs/Base.yaml"].replace("16", "8"));
  });

  it("obeys the overrides of the command that starts a Hydra program", async () => {
    const files = {
      ...LIGHTNING,
      "configs/trainer/ddp.yaml": "defaults:\n  - default\n\naccelerator: gpu\ndevices: 4\nnum_nodes: 2\n",
      "configs/extra/small.yaml": "# @package _global_\ndata:\n  batch_size: 3\n",
      "src/train.py":
        'import hydra\n@hydra.main(version_base="1.3", config_path="../configs", config_name="train")\ndef main(cfg):\n    pass\n',
      "run.sh":
        "python src/train.py trainer=ddp trainer.accumulate_grad_batches=16 +extra=small ~trainer.precision ++trainer.gradient_clip_val=0.5\n",
    };
    const analysis = await analyse(files, "configs/train.yaml");
    const of = (name: string) => [setting(analysis, name)?.value, setting(analysis, name)?.uri?.replace(uri(""), "")];
    assert.deepEqual(of("world_size"), [8, "configs/trainer/ddp.yaml"]);
    assert.deepEqual(of("gradient_accumulation_steps"), [16, "run.sh"]);
    assert.deepEqual(of("micro_batch_size"), [3, "configs/extra/small.yaml"]);
    assert.deepEqual(of("max_grad_norm"), [0.5, "run.sh"]);
    assert.notEqual(of("compute_dtype")[1], "configs/train.yaml");
    const after = edited(files, analysis, { gradient_accumulation_steps: "4" });
    assert.equal(after["run.sh"], files["run.sh"].replace("batches=16", "batches=4"));
    const links = (await analyse(files, "run.sh")).links().map(({ target }) => target);
    assert.ok(links.includes(uri("configs/trainer/ddp.yaml")) && links.includes(uri("configs/extra/small.yaml")));
    const none = await analyse(
      { ...files, "run.sh": "python src/train.py --config-name other trainer=ddp\n" },
      "configs/train.yaml",
    );
    assert.equal(setting(none, "world_size")?.value, 4);
  });

  it("obeys options of the command that are keys of the config it names", async () => {
    const files = {
      "train.yaml":
        "model_name_or_path: a/b\ndataset_name: x\noutput_dir: out\nper_device_train_batch_size: 2\nbf16: true\n",
      "run.sh":
        "accelerate launch --num_processes 4 --mixed_precision fp16 -m trl.scripts.sft --config train.yaml --per-device-train-batch-size 6\n",
      "ds.json": '{"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 1}\n',
      "ds.sh": "deepspeed train.py --deepspeed ds.json --gradient_accumulation_steps 8\n",
    };
    const analysis = await analyse(files, "train.yaml");
    assert.equal(setting(analysis, "micro_batch_size")?.value, 6);
    assert.equal(setting(analysis, "micro_batch_size")?.uri, uri("run.sh"));
    assert.equal(setting(analysis, "world_size")?.value, 4);
    const text = files["train.yaml"].split("\n").findIndex((line) => line.startsWith("per_device"));
    assert.match((await analysis.hover(text, 3))?.markdown ?? "", /Overridden: 6 from \[run\.sh:1\]/);
    assert.match(
      (await analysis.hover(text, 3))?.markdown ?? "",
      /Global batch \*\*24\*\* = batch 6 \(\[run\.sh:1\]\S+\) × 4 GPUs \(\[run\.sh:1\]\S+\) × accumulation 1 \(default\)/,
    );
    assert.equal(setting(await analyse(files, "ds.json"), "gradient_accumulation_steps")?.value, 1);
    const [link] = (await analyse(files, "run.sh")).links().filter(({ target }) => target === uri("train.yaml"));
    const at = files["run.sh"].indexOf("train.yaml");
    assert.deepEqual([link?.range.start.character, link?.range.end.character], [at, at + "train.yaml".length]);
  });

  it("follows the links that included files state", async () => {
    const files = {
      "configs/train.yaml": "defaults:\n  - _self_\n  - args: base\n\nrun_name: x\n",
      "configs/args/base.yaml":
        "# @package _global_\noutput_dir: out\nper_device_train_batch_size: 2\nnum_train_epochs: 1\nbf16: true\ndeepspeed: zero.json\n",
      "configs/args/zero.json": '{"zero_optimization": {"stage": 3}}\n',
    };
    const analysis = await analyse(files, "configs/train.yaml");
    assert.equal(setting(analysis, "zero_stage")?.uri, uri("configs/args/zero.json"));
    const inside = (await analyse(files, "configs/args/base.yaml")).links();
    assert.deepEqual(
      inside.map(({ target, range }) => [target, range.start]),
      [[uri("configs/args/zero.json"), { line: 5, character: 11 }]],
    );
    const fsdp = {
      ...files,
      "configs/args/base.yaml": files["configs/args/base.yaml"].replace(
        "deepspeed: zero.json",
        "fsdp: full_shard\nfsdp_config: fsdp.json",
      ),
      "configs/args/fsdp.json": '{"activation_checkpointing": true}\n',
    };
    const sharded = await analyse(fsdp, "configs/train.yaml");
    assert.equal(setting(sharded, "gradient_checkpointing")?.uri, uri("configs/args/fsdp.json"));
  });

  it("survives lists that are cut off, name themselves many times, or make no sense", async () => {
    const main = LIGHTNING["configs/train.yaml"];
    for (let end = 0; end < main.length; end += 5) {
      const analysis = await analyse({ ...LIGHTNING, "configs/train.yaml": main.slice(0, end) }, "configs/train.yaml");
      assert.ok(
        analysis.report.errors.every(({ message }) => message === "not-recognised" || !/[A-Z]\w*Error/.test(message)),
      );
    }
    const layers = Object.fromEntries(
      Array.from({ length: 14 }, (_, i) => [
        `configs/l${i}.yaml`,
        `defaults:\n  - l${i + 1}@a\n  - l${i + 1}@b\n\nx: ${i}\n`,
      ]),
    );
    const many = `defaults:\n  - l0\n  - 3\n  - [x]\n  - {a: {b: c}}\n  - ../../../../../x\n  - "@"\n\n${main.slice(main.indexOf("trainer:\n"))}seed_everything: 1\n`;
    const analysis = await analyse({ ...layers, "configs/train.yaml": many }, "configs/train.yaml");
    assert.deepEqual(analysis.report.errors, []);
    assert.equal(setting(analysis, "gradient_accumulation_steps")?.value, 8);
  });

  it("reads FSDP options from the file they are in", async () => {
    const files = {
      "model/config.json": JSON.stringify(TINY_LLAMA),
      ".vramlens.yaml": "runs:\n  - match: train.yaml\n    model: ./model\n    sequence_length: 128\n",
      "run.sh": "torchrun --nproc_per_node 4 train.py train.yaml\n",
      "train.yaml":
        "output_dir: out\nper_device_train_batch_size: 2\nbf16: true\nfsdp: full_shard\nfsdp_config: fsdp.json\n",
      "fsdp.json": '{"activation_checkpointing": false}\n',
    };
    const off = await analyse(files, "train.yaml");
    assert.deepEqual(
      off.links().map(({ target }) => target),
      [uri("fsdp.json")],
    );
    const on = await analyse({ ...files, "fsdp.json": '{"activation_checkpointing": true}\n' }, "train.yaml");
    assert.equal(setting(on, "gradient_checkpointing")?.value, true);
    assert.equal(setting(on, "gradient_checkpointing")?.uri, uri("fsdp.json"));
    const peak = (analysis: DocumentAnalysis): number => analysis.runs[0]?.perDevice?.allocatedPeakBytes ?? 0;
    assert.ok(peak(on) > 0 && peak(on) < peak(off));
    const run = on.runs[0];
    assert.ok(run);
    const refused = on.whatIfEdits(run.id, { gradient_checkpointing: "false" });
    assert.match(JSON.stringify(refused), /fsdp\.json/);
    const inline = {
      ...files,
      "train.yaml": files["train.yaml"].replace("fsdp.json", "\n  activation_checkpointing: true"),
    };
    const after = edited(inline, await analyse(inline, "train.yaml"), { gradient_checkpointing: "false" });
    assert.equal(after["train.yaml"], inline["train.yaml"].replace("checkpointing: true", "checkpointing: false"));
    const gone = { ...files, "train.yaml": files["train.yaml"].replace("fsdp.json", "none.json") };
    assert.ok((await analyse(gone, "train.yaml")).runs[0]?.findings.some(({ code }) => code === "missing-file"));
  });

  it("reads FSDP options that a command or a Python call names", async () => {
    const fsdp = { "fsdp.json": '{"cpu_offload": true}\n' };
    const shell =
      "torchrun --nproc_per_node 4 train.py --output_dir out --per_device_train_batch_size 2 --bf16 true --fsdp full_shard --fsdp_config fsdp.json\n";
    const python =
      'from transformers import TrainingArguments\nargs = TrainingArguments("out", per_device_train_batch_size=2, bf16=True, fsdp="full_shard", fsdp_config="fsdp.json")\n';
    for (const [main, text] of Object.entries({ "run.sh": shell, "train.py": python })) {
      const analysis = await analyse({ ...fsdp, [main]: text }, main);
      assert.ok(analysis.runs[0]?.documents.includes(uri("fsdp.json")), main);
    }
  });

  it("links the configs that a detectron2 or OpenMMLab config extends", async () => {
    const files = {
      "configs/rcnn.yaml": "_BASE_: ./Base-RCNN.yaml\nMODEL:\n  WEIGHTS: x.pkl\nSOLVER:\n  IMS_PER_BATCH: 8\n",
      "configs/Base-RCNN.yaml":
        "MODEL:\n  META_ARCHITECTURE: GeneralizedRCNN\nSOLVER:\n  IMS_PER_BATCH: 16\nINPUT:\n  X: 1\n",
      "configs/det/rcnn.py": "_base_ = ['../_base_/model.py', '../_base_/gone.py']\nmodel = dict(type='RCNN')\n",
      "configs/_base_/model.py": "model = dict(type='RCNN', backbone=dict(depth=50))\n",
    };
    const targets = async (main: string) => (await analyse(files, main)).links().map(({ target }) => target);
    assert.deepEqual(await targets("configs/rcnn.yaml"), [uri("configs/Base-RCNN.yaml")]);
    assert.deepEqual(await targets("configs/det/rcnn.py"), [uri("configs/_base_/model.py")]);
    const missing = (await analyse(files, "configs/det/rcnn.py")).runs[0]?.findings.find(
      ({ code }) => code === "missing-file",
    );
    assert.equal(missing?.severity, "information");
  });
});

describe("formats: Hydra's paths and packages", () => {
  it("reads the head of a config, and joins paths and packages as Hydra does", () => {
    assert.equal(packageHeader("# @package _global_\nx: 1\n"), "_global_");
    assert.equal(packageHeader("# A comment.\n\n# @package a.b\nx: 1\n"), "a.b");
    assert.equal(packageHeader("x: 1\n# @package a\n"), undefined);
    assert.equal(groupPath("server/db", "../cache"), "server/cache");
    assert.equal(groupPath("server", "/db"), "db");
    assert.equal(packageOf("server", undefined, "db", "mysql"), "server.db");
    assert.equal(packageOf("server", "_global_", "db", "mysql"), "");
    assert.equal(packageOf("server", "_global_.x", "db", "mysql"), "x");
    assert.equal(packageOf("a", "_here_", "db", "mysql"), "a");
    assert.equal(packageOf("", "_group_._name_", "db", "mysql"), "db.mysql");
  });
});
