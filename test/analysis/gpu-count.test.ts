/** How many GPUs a run has: what launchers and schedulers say, and what is said when nobody does. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { LineIndex } from "../../src/analysis/documents/lines";
import { applyEdits } from "../../src/syntax/edit";
import { memoryRuntime, uri } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

const REST = "train.py --model_name_or_path gpt2 --output_dir o --per_device_train_batch_size 1 --bf16 True";

async function worldOf(script: string): Promise<unknown> {
  const analysis = await createAnalyzer(memoryRuntime({ "run.sh": script })).analyse(uri("run.sh"), {});
  const found = analysis.runs[0]?.settings.find(({ name }) => name === "world_size");
  return found?.from === "assumed" ? "assumed" : found?.value;
}

describe("analysis: the number of GPUs", () => {
  it("is what launchers, their environment and the scheduler's lines say", async () => {
    const cases: readonly (readonly [string, unknown])[] = [
      [`CUDA_VISIBLE_DEVICES=0,1 deepspeed ${REST}`, 2],
      [`CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node 4 ${REST}`, 4],
      [`CUDA_VISIBLE_DEVICES=0,1 python ${REST}`, 2],
      [`export CUDA_VISIBLE_DEVICES=4,5,6\naccelerate launch ${REST}`, 3],
      [`torchrun --nnodes 2 --nproc_per_node 8 ${REST}`, 16],
      [`torchrun --nnodes 2:4 --nproc-per-node 8 ${REST}`, 16],
      [`#!/bin/bash\n#SBATCH --gres=gpu:4\n#SBATCH --nodes=2\nsrun python ${REST}`, 8],
      [`#!/bin/bash\n#SBATCH --gres=gpu:a100:2\ndeepspeed ${REST}`, 2],
      [
        `#!/bin/bash\n#SBATCH --gpus-per-node=4\n#SBATCH -N 2\ntorchrun --nnodes $SLURM_NNODES --nproc_per_node 4 ${REST}`,
        8,
      ],
      [
        `#!/bin/bash\n#SBATCH --gpus-per-task=1\n#SBATCH --ntasks-per-node=4\n#SBATCH --nodes=2\nsrun python ${REST}`,
        8,
      ],
      [`#!/bin/bash\n#SBATCH --gres=gpu:4\ntorchrun --nproc_per_node $(nvidia-smi -L | wc -l) ${REST}`, 4],
      [`torchrun --nproc_per_node $(nvidia-smi -L | wc -l) ${REST}`, "assumed"],
    ];
    for (const [script, expected] of cases) assert.equal(await worldOf(script), expected, script);
  });

  it("and the card is the one that nodes must have", async () => {
    const cases: readonly (readonly [string, unknown])[] = [
      ["#SBATCH --constraint=h100", "H100"],
      ['#SBATCH -C "a100-80gb&ib"', "A100"],
      ["#SBATCH --gres=gpu:a100:2\n#SBATCH --constraint=h100", "A100"],
      ['#SBATCH --constraint="h100|a100"', undefined],
      ["#SBATCH --constraint=intel", undefined],
    ];
    for (const [lines, expected] of cases) {
      const script = `#!/bin/bash\n${lines}\n#SBATCH --gpus-per-node=2\ntorchrun --nproc_per_node 2 ${REST}`;
      const { run } = await resolveFiles({ "run.sh": script }, "run.sh");
      assert.equal(run?.device?.name.match(/[AH]100/)?.[0], expected, lines);
    }
    // Of the two cards of that name both mean the smaller.
    for (const line of ["--constraint=A100", "--gres=gpu:A100:2"]) {
      const script = `#!/bin/bash\n#SBATCH ${line}\ntorchrun --nproc_per_node 2 ${REST}`;
      assert.match((await resolveFiles({ "run.sh": script }, "run.sh")).run?.device?.name ?? "", /40GB/, line);
    }
  });

  it("is that of the hosts that a file names, or of one machine where the number of machines is not known", async () => {
    const hosts = "worker-1 slots=8\n# spare\nworker-2 slots=8 # slow\nworker-3 slots=2\n";
    const cases: readonly (readonly [string, unknown])[] = [
      [`deepspeed --hostfile=hosts ${REST}`, 18],
      [`deepspeed --hostfile ./hosts --num_nodes 2 ${REST}`, 16],
      [`deepspeed --hostfile hosts --num_gpus 2 ${REST}`, 6],
      [`deepspeed --hostfile hosts --include worker-1@worker-2:0,2 ${REST}`, 10],
      [`deepspeed --hostfile hosts --exclude worker-1@worker-2:0,2 ${REST}`, 8],
      [`mpirun --hostfile hosts python ${REST}`, 18],
      [`mpirun -np 4 --hostfile hosts python ${REST}`, 4],
      [`deepspeed --hostfile nowhere --num_gpus 4 ${REST}`, "assumed 4"],
      [`torchrun --nnodes=$NNODES --nproc_per_node=8 ${REST}`, "assumed 8"],
      [`accelerate launch --num_machines $NNODES --num_processes $((8 * $NNODES)) ${REST}`, "assumed 8"],
      [`accelerate launch --num_processes $(($NNODES*4)) ${REST}`, "assumed 4"],
    ];
    for (const [script, expected] of cases) {
      const files = { "run.sh": script, hosts };
      const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("run.sh"), {});
      const found = analysis.runs[0]?.settings.find(({ name }) => name === "world_size");
      assert.equal(found?.from === "assumed" ? `assumed ${found.value}` : found?.value, expected, script);
      const edits = analysis.whatIfEdits("run.sh", { world_size: "3" });
      const written = edits !== null && "edits" in edits ? edits.edits.map(({ newText }) => newText) : [];
      if (script.includes("=hosts")) assert.deepEqual(written, []);
    }
  });

  it("is one or more where a launcher takes all, and unknown where a file of hosts is not there, which are said", async () => {
    const said = async (script: string) => {
      const [run] = (await createAnalyzer(memoryRuntime({ "run.sh": script })).analyse(uri("run.sh"), {})).report.runs;
      return [run?.assumptions.map(({ id }) => id).includes("assume.all-gpus"), run?.findings.map(({ code }) => code)];
    };
    assert.equal((await said(`deepspeed ${REST}`))[0], true);
    assert.equal((await said(`accelerate launch ${REST}`))[0], true);
    assert.equal((await said(`CUDA_VISIBLE_DEVICES=0 accelerate launch ${REST}`))[0], false);
    assert.equal((await said(`python ${REST}`))[0], false);
    assert.match(String(await said(`deepspeed --hostfile nowhere ${REST}`)), /missing-file/);
  });

  it("is asked for where a file of hosts is not there, whether the run fits one GPU or not", async () => {
    const verdictOf = async (script: string) => {
      const [run] = (
        await createAnalyzer(memoryRuntime({ "run.sh": script })).analyse(uri("run.sh"), { device: "H100" })
      ).report.runs;
      return [run?.verdict, run?.findings.some(({ code }) => code === "gpu-count-open")];
    };
    assert.deepEqual(await verdictOf(`mpirun --hostfile nowhere python ${REST}`), ["unknown", true]);
    assert.deepEqual(await verdictOf(`mpirun -np 4 --hostfile nowhere python ${REST}`), ["fits", false]);
    assert.deepEqual(await verdictOf(`python ${REST}`), ["fits", false]);
  });

  it("is said to be unknown where a launcher is told from outside, and where it takes every GPU", async () => {
    const said = async (script: string) => {
      const [run] = (await createAnalyzer(memoryRuntime({ "run.sh": script })).analyse(uri("run.sh"), {})).report.runs;
      return run?.assumptions.map(({ id }) => id).filter((id) => /count-unread|all-gpus/.test(id));
    };
    assert.deepEqual(await said(`torchrun --nproc_per_node $GPUS ${REST}`), ["assume.count-unread"]);
    assert.deepEqual(await said(`torchrun --nproc_per_node=1e999 ${REST}`), ["assume.count-unread"]);
    assert.deepEqual(await said(`accelerate launch --num_processes $GPUS ${REST}`), ["assume.count-unread"]);
    assert.deepEqual(await said(`torchrun --nproc_per_node=gpu ${REST}`), ["assume.all-gpus"]);
    assert.deepEqual(await said(`torchrun --nproc_per_node=4 ${REST}`), []);
  });

  it("is the mesh that a config lays out", async () => {
    const config =
      "base_model: gpt2\ndp_shard_size: 4\ndp_replicate_size: 2\nfsdp_version: 2\nfsdp_config:\n  reshard_after_forward: true\nsequence_len: 256\nmicro_batch_size: 1\noptimizer: adamw_torch\ndatasets:\n  - path: x\n    type: alpaca\n";
    const analysis = await createAnalyzer(memoryRuntime({ "a.yml": config })).analyse(uri("a.yml"), {});
    assert.equal(analysis.runs[0]?.settings.find(({ name }) => name === "world_size")?.value, 8);
  });

  it("is what Ray starts, or an accelerate config says that says little else", async () => {
    const config = "stage: sft\nmodel_name_or_path: gpt2\nfinetuning_type: full\ncutoff_len: 256\nray_num_workers: 6\n";
    const ray = await createAnalyzer(memoryRuntime({ "a.yaml": config })).analyse(uri("a.yaml"), {});
    assert.equal(ray.runs[0]?.settings.find(({ name }) => name === "world_size")?.value, 6);
    const files = {
      "run.sh": `CUDA_VISIBLE_DEVICES=2,3 accelerate launch --config_file acc.yaml ${REST}`,
      "acc.yaml": "distributed_type: FSDP\n",
    };
    const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri("run.sh"), {})).runs;
    assert.equal(run?.settings.find(({ name }) => name === "world_size")?.value, 2);
    assert.ok(run?.settings.some(({ name }) => name === "fsdp"));
  });

  it("is no fewer than the split of the model needs", async () => {
    const config =
      "[model]\nname = 'llama3'\nflavor = 'debugmodel'\n[training]\nlocal_batch_size = 1\nseq_len = 512\n[parallelism]\ntensor_parallel_degree = 4\npipeline_parallel_degree = 2\n";
    const [run] = (await createAnalyzer(memoryRuntime({ "a.toml": config })).analyse(uri("a.toml"), {})).runs;
    const found = run?.settings.find(({ name }) => name === "world_size");
    assert.deepEqual([found?.value, found?.from], [8, "assumed"]);
  });

  it("is no verdict that does not fit where a file that may share the run out is not there", async () => {
    const text = (rest: string): string =>
      `model_name_or_path: Qwen/Qwen2.5-7B\nfinetuning_type: full\nstage: sft\ntemplate: qwen\noutput_dir: o\nbf16: true\n${rest}`;
    const verdictOf = async (rest: string, device: string, files: Readonly<Record<string, string>> = {}) => {
      const analysis = await createAnalyzer(memoryRuntime({ ...files, "sft.yaml": text(rest) })).analyse(
        uri("sft.yaml"),
        { device, plans: true },
      );
      const [run] = analysis.runs;
      const errors = run?.findings.filter(({ severity, code }) => severity === "error" || code === "gpu-count-open");
      return [run?.verdict, errors?.length];
    };
    const named = "deepspeed: examples/ds.json\n";
    assert.deepEqual(await verdictOf("", "16GB"), ["does-not-fit", 1]);
    assert.deepEqual(await verdictOf(named, "16GB"), ["unknown", 0]);
    assert.deepEqual(await verdictOf(named, "B300"), ["fits", 0]);
    // States are shared over an unknown number: none is enough here, for each has all parameters.
    const stage = '{"zero_optimization": {"stage": 1}, "bf16": {"enabled": true}}';
    assert.deepEqual(await verdictOf(named, "16GB", { "examples/ds.json": stage }), ["unknown", 1]);
    const none = '{"zero_optimization": {"stage": 0}, "bf16": {"enabled": true}}';
    assert.deepEqual(await verdictOf(named, "16GB", { "examples/ds.json": none }), ["does-not-fit", 1]);
  });

  it("is left open, with the fewest that fit, where sharding says several and nothing how many", async () => {
    const text = `model_name_or_path: Qwen/Qwen2.5-1.5B
finetuning_type: full
stage: sft
deepspeed: ds.json
template: qwen
cutoff_len: 512
output_dir: o
per_device_train_batch_size: 1
bf16: true
`;
    const files = { "sft.yaml": text, "ds.json": '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}}' };
    const options = { device: "16GB", plans: true };
    const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("sft.yaml"), options);
    const [run] = analysis.runs;
    assert.equal(run?.verdict, "unknown");
    assert.deepEqual(run?.plans, []);
    assert.ok(!run?.findings.some(({ severity }) => severity === "error"));
    const finding = run?.findings.find(({ code }) => code === "gpu-count-open");
    const count = Number(/(\d+) or more are needed/.exec(finding?.message ?? "")?.[1]);
    assert.ok(count > 1 && count < 16, finding?.message);
    const [fix] = analysis.fixes(
      finding?.range ?? { start: { line: 0, character: 0 }, end: { line: 99, character: 0 } },
    );
    assert.ok(fix !== undefined);
    const lines = new LineIndex(text);
    const edited = applyEdits(
      text,
      fix.edits.map(({ range, newText }) => ({
        start: lines.offset(range.start.line, range.start.character),
        end: lines.offset(range.end.line, range.end.character),
        newText,
      })),
    );
    const after = await createAnalyzer(memoryRuntime({ ...files, "sft.yaml": edited })).analyse(
      uri("sft.yaml"),
      options,
    );
    assert.equal(after.runs[0]?.devices.count, count);
    assert.notEqual(after.runs[0]?.verdict, "does-not-fit");
    const fewer = edited.replace(/gpus=\d+/, `gpus=${count - 1}`);
    const short = await createAnalyzer(memoryRuntime({ ...files, "sft.yaml": fewer })).analyse(
      uri("sft.yaml"),
      options,
    );
    // It may be tight: the band of several ranks is wide, and the fewest are those that the estimate itself fits.
    const { perDevice, devices, verdict } = short.runs[0]!;
    assert.notEqual(verdict, "fits");
    assert.ok((perDevice?.usedPeakBytes ?? 0) > (devices.usableBytes ?? 0));
  });

  it("is stated as a machine's, so that there are plans, where no number is enough", async () => {
    const text =
      "model_name_or_path: Qwen/Qwen2.5-1.5B\ndeepspeed: ds.json\noutput_dir: o\nper_device_train_batch_size: 64\nbf16: true\n";
    const files = { "a.yaml": text, "ds.json": '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}}' };
    const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("a.yaml"), { device: "8GB" });
    const finding = analysis.runs[0]?.findings.find(({ code }) => code === "gpu-count-open");
    assert.match(finding?.message ?? "", /no number is enough/);
    const [fix] = analysis.fixes(
      finding?.range ?? { start: { line: 0, character: 0 }, end: { line: 9, character: 0 } },
    );
    assert.equal(fix?.edits[0]?.newText, "# vramlens: gpus=8\n");
  });

  it("is not written where the script says it by a list or by parts", async () => {
    const script = `CUDA_VISIBLE_DEVICES=0,1 deepspeed ${REST}\n`;
    const analysis = await createAnalyzer(memoryRuntime({ "run.sh": script })).analyse(uri("run.sh"), {});
    const result = analysis.whatIfEdits("run.sh", { world_size: "4" });
    assert.ok(result === null || "refused" in result, JSON.stringify(result));
  });
});
