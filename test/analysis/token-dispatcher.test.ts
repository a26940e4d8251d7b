/** How tokens come to Megatron's experts (megatron/core/transformer/transformer_config.py, moe_token_dispatcher_type). */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const COMMAND =
  "torchrun --nproc_per_node 4 pretrain_gpt.py --num-layers 4 --hidden-size 256 --num-attention-heads 8 --ffn-hidden-size 512 --swiglu --normalization RMSNorm --seq-length 64 --max-position-embeddings 64 --micro-batch-size 1 --global-batch-size 16 --vocab-size 50304 --bf16 --num-experts 8 --moe-router-topk 2 --train-iters 10";
const PINS = 'runs:\n  - match: "*"\n    device: { name: RTX 4090, count: 4 }\n';

/** What is said of the dispatcher, and the width of the band. */
async function saidOf(more: string): Promise<readonly [said: readonly string[], width: number]> {
  const files = { "train.sh": `${COMMAND} ${more}\n`, ".vramlens.yaml": PINS };
  const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri("train.sh"), {})).runs;
  assert.ok(run?.perDevice, run?.verdict);
  const said = run.assumptions.filter(({ id }) => id === "engine.token-dispatcher").map(({ what }) => what);
  return [said, run.perDevice.band.highBytes - run.perDevice.band.lowBytes];
}

describe("analysis: Megatron's token dispatcher", () => {
  it("is said where it is not the one that is followed, by word or by default, and widens the band", async () => {
    const spread = "--expert-model-parallel-size 4";
    const [followed, narrow] = await saidOf(`${spread} --moe-token-dispatcher-type alltoall`);
    assert.deepEqual(followed, []);
    for (const [more, named] of [
      ["", "allgather"],
      ["--moe-token-dispatcher-type flex", "flex"],
    ] as const) {
      const [said, wide] = await saidOf(`${spread} ${more}`);
      assert.equal(said.length, 1, more);
      assert.ok(said[0]?.includes(`\`${named}\``), said[0]);
      assert.ok(wide > narrow, more);
    }
    assert.deepEqual((await saidOf(""))[0], [], "experts are not spread");
  });
});
