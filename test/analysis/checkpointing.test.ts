/** Which layers are checkpointed and where their inputs wait, as each format says it. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { ReportRun } from "../../src/core/report/schema";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

const FILES = {
  "model/config.json": JSON.stringify(TINY_LLAMA),
  ".vramlens.yaml": 'runs:\n  - match: "*"\n    model: ./model\n    sequence_length: 256\n    dtype: float32\n',
};
const TRAIN = "output_dir: out\nper_device_train_batch_size: 16\n";

async function runOf(text: string, main = "train.yaml"): Promise<ReportRun> {
  const [run] = (await createAnalyzer(memoryRuntime({ ...FILES, [main]: text })).analyse(uri(main), {})).runs;
  assert.ok(run?.perDevice);
  return run;
}

const peak = (run: ReportRun): number => run.perDevice?.allocatedPeakBytes ?? 0;

describe("analysis: kinds of checkpointing", () => {
  it("reads every nth layer and offloading from the options, as a block or as JSON", async () => {
    const none = await runOf(TRAIN);
    const all = await runOf(`${TRAIN}gradient_checkpointing: true\n`);
    const some = await runOf(
      `${TRAIN}gradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  every_n_layers: 2\n`,
    );
    assert.ok(peak(all) < peak(some) && peak(some) < peak(none));
    const sent = await runOf(`${TRAIN}gradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  offload: true\n`);
    assert.ok(sent.host.pinnedBytes > 0);
    assert.equal(all.host.pinnedBytes, 0);
    const json = await runOf(
      `${TRAIN}gradient_checkpointing: true\ngradient_checkpointing_kwargs: '{"every_n_layers": 2, "use_reentrant": false}'\n`,
    );
    assert.equal(peak(json), peak(some));
  });

  it("sends every saved activation with TRL's switch", async () => {
    const base = "model_name_or_path: ./model\ndataset_name: d\nper_device_train_batch_size: 16\nmax_length: 256\n";
    const plain = await runOf(`${base}gradient_checkpointing: false\n`, "sft.yaml");
    const sent = await runOf(`${base}gradient_checkpointing: false\nactivation_offloading: true\n`, "sft.yaml");
    assert.ok(sent.host.pinnedBytes > 0);
    assert.ok(peak(sent) < peak(plain));
  });
});

describe("analysis: torchtitan's checkpointing", () => {
  const TITAN = (block: string): string =>
    `[model]\nname = "llama3"\nflavor = "debugmodel"\n[training]\nlocal_batch_size = 16\nseq_len = 256\n${block}`;
  const block = (text: string): string => `[activation_checkpoint]\n${text}\n`;

  it("keeps chosen operators unless it is told otherwise", async () => {
    const at = async (text: string): Promise<number> => peak(await runOf(TITAN(text), "titan.toml"));
    const chosen = await at(block('mode = "selective"\nselective_ac_option = "op"'));
    const none = await at(block('mode = "none"'));
    const full = await at(block('mode = "full"'));
    const second = await at(block('mode = "selective"\nselective_ac_option = "2"'));
    assert.ok(full < chosen && chosen < none);
    assert.ok(full < second && second < none);
    assert.equal(await at(""), chosen);
  });
});

describe("analysis: torchtune's checkpointing", () => {
  const recipe = (component: string, more: string): string =>
    `model:\n  _component_: torchtune.models.qwen2_5.${component}\n  lora_attn_modules: ['q_proj']\ntokenizer:\n  max_seq_len: 512\nbatch_size: 8\noptimizer:\n  _component_: torch.optim.SGD\ndtype: bf16\n${more}`;
  const at = async (more: string, component = "qwen2_5_0_5b"): Promise<number> =>
    peak(await runOf(recipe(component, more), "tune.yaml"));

  it("has a switch for every nth layer, which stands beside that for all and is not read with it", async () => {
    const [none, all] = [await at(""), await at("enable_activation_checkpointing: true\n")];
    const second = await at("ac_mode: selective\nac_option: 2\n");
    assert.ok(all < second && second < none);
    assert.equal(await at("ac_mode: full\nac_option: 2\n"), all);
    assert.equal(await at("ac_option: 2\n"), none);
    assert.equal(await at("enable_activation_checkpointing: true\nac_option: 2\n"), all);
  });

  it("is not chosen by layers in the recipes of adapters", async () => {
    const plain = await at("", "lora_qwen2_5_0_5b");
    assert.equal(await at("ac_mode: selective\nac_option: 2\n", "lora_qwen2_5_0_5b"), plain);
  });
});

describe("analysis: Megatron's recomputation", () => {
  const command = (more: string): string =>
    "torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 256 " +
    `--max-position-embeddings 256 --micro-batch-size 16 --global-batch-size 16 --bf16 ${more}\n`;
  const of = async (more: string): Promise<NonNullable<ReportRun["perDevice"]>> => {
    const { perDevice } = await runOf(command(more), "train.sh");
    assert.ok(perDevice);
    return perDevice;
  };

  it("recomputes every layer, so many together, or the first so many of a stage", async () => {
    const full = "--recompute-granularity full --recompute-method";
    const none = await of("");
    const all = await of(`${full} uniform --recompute-num-layers 1`);
    const pairs = await of(`${full} uniform --recompute-num-layers 2`);
    const half = await of(`${full} block --recompute-num-layers 1`);
    // Fewer inputs wait during the loss, where this run peaks.
    assert.ok(pairs.allocatedPeakBytes < all.allocatedPeakBytes && pairs.allocatedPeakBytes < none.allocatedPeakBytes);
    assert.ok(all.allocatedPeakBytes < half.allocatedPeakBytes && half.allocatedPeakBytes < none.allocatedPeakBytes);
  });

  it("spares nothing for fused attention alone, and an unknown part for other modules", async () => {
    const none = await of("");
    const attention = await of("--recompute-granularity selective");
    assert.equal(attention.allocatedPeakBytes, none.allocatedPeakBytes);
    assert.deepEqual(attention.band, none.band);
    assert.deepEqual((await of("--recompute-activations")).band, none.band);
    const modules = await of("--recompute-granularity selective --recompute-modules core_attn mlp");
    assert.equal(modules.allocatedPeakBytes, none.allocatedPeakBytes);
    assert.ok(modules.band.lowBytes < none.band.lowBytes);
  });
});
