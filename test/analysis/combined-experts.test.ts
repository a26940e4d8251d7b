/** What torchtitan's experts are run together with where no reference run holds the number, and buffers that are not counted. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const CONFIG =
  '# vramlens: gpu=H200 gpus=16\n[model]\nname = "deepseek_v3"\nflavor = "16B"\n\n[training]\nlocal_batch_size = 2\nseq_len = 1024\n\n' +
  "[parallelism]\ndata_parallel_shard_degree = -1\nexpert_parallel_degree = 4\n";

async function saidOf(more: string): Promise<readonly string[]> {
  const [run] = (await createAnalyzer(memoryRuntime({ "train.toml": CONFIG + more })).analyse(uri("train.toml"), {}))
    .runs;
  assert.ok(run?.perDevice, run?.verdict);
  return run.assumptions.map(({ id, what }) => (id === "assume.uncounted" ? what : id));
}

describe("analysis: torchtitan's experts beside other splits", () => {
  it("are said to be held by no reference run with pipeline stages or split sequences", async () => {
    assert.ok(!(await saidOf("")).includes("engine.combined-experts"));
    assert.ok((await saidOf("pipeline_parallel_degree = 2\n")).includes("engine.combined-experts"));
    assert.ok((await saidOf("context_parallel_degree = 2\n")).includes("engine.combined-experts"));
  });

  it("say that DeepEP's buffers need more and are not counted", async () => {
    const said = async (backend: string) =>
      (await saidOf(`expert_parallel_comm_backend = "${backend}"\n`)).filter((what) => what.includes("comm_backend"));
    assert.match(String(await said("deepep")), /expert_parallel_comm_backend ↑/);
    assert.deepEqual(await said("standard"), []);
  });
});
