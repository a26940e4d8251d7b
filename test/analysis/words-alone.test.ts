/** Models that read pictures and words, given words alone: what prepares the samples tells. */
import { strict as assert } from "node:assert";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import type { ReportRun } from "../../src/core/report/schema";
import { memoryRuntime, uri } from "./memory-runtime";

const GRAPHS = join(__dirname, "../../models/graphs");
const MODEL = {
  model_type: "qwen2_5_vl",
  architectures: ["Qwen2_5_VLForConditionalGeneration"],
  vision_config: { depth: 2, fullatt_block_indexes: [7, 15, 23, 31] },
  text_config: { num_hidden_layers: 2, num_key_value_heads: 4 },
};

const script = (prepares: string): string => `from transformers import AutoProcessor, AutoTokenizer
from trl import SFTConfig, SFTTrainer
prepares = ${prepares}.from_pretrained("./model")
args = SFTConfig(output_dir="out", per_device_train_batch_size=2, max_length=512)
SFTTrainer(model="./model", args=args, train_dataset=data, processing_class=prepares).train()
`;

async function runOf(main: string, text: string, pins?: string): Promise<ReportRun> {
  assert.ok(existsSync(GRAPHS));
  const files = { [main]: text, "model/config.json": JSON.stringify(MODEL) };
  const pinned = pins === undefined ? {} : { ".vramlens.yaml": `runs:\n  - match: "*"\n    image_size: ${pins}\n` };
  const [run] = (await createAnalyzer(memoryRuntime({ ...files, ...pinned })).analyse(uri(main), {})).runs;
  assert.ok(run);
  return run;
}

const assumed = ({ assumptions }: ReportRun): string =>
  assumptions
    .filter(({ settleWith }) => settleWith === "image_size")
    .map(({ what }) => what)
    .join();

const peak = ({ perDevice }: ReportRun): number => perDevice?.allocatedPeakBytes ?? 0;

describe("analysis: words alone, of a model that reads pictures, too", () => {
  it("a script with a tokenizer gives words, one with a processor pictures", async () => {
    const words = await runOf("train.py", script("AutoTokenizer"));
    const both = await runOf("train.py", script("AutoProcessor"));
    assert.match(assumed(words), /^text only/);
    assert.match(assumed(both), /^one 756 × 756 picture/);
    assert.ok(peak(words) > 0 && peak(words) < peak(both));
  });

  it("a pinned side settles it either way, nought for no picture", async () => {
    const none = await runOf("train.py", script("AutoProcessor"), "0");
    assert.equal(assumed(none), "");
    assert.equal(peak(none), peak(await runOf("train.py", script("AutoTokenizer"))));
    const some = await runOf("train.py", script("AutoTokenizer"), "756");
    assert.equal(peak(some), peak(await runOf("train.py", script("AutoProcessor"))));
  });

  it("axolotl gives pictures where a processor is named", async () => {
    const axolotl = "base_model: ./model\nmicro_batch_size: 1\nsequence_len: 512\ndatasets:\n  - path: data\n";
    assert.match(assumed(await runOf("a.yaml", axolotl)), /^text only/);
    assert.match(assumed(await runOf("a.yaml", `${axolotl}processor_type: AutoProcessor\n`)), /^one 756 × 756 picture/);
  });
});

describe("analysis: text that is generated of pictures", () => {
  it("is followed where no graph without pictures was captured: every token reads them again", async () => {
    const model = {
      model_type: "glm4v",
      architectures: ["Glm4vForConditionalGeneration"],
      vision_config: { depth: 2 },
      text_config: { num_hidden_layers: 2 },
    };
    const files = {
      "train.yaml":
        "model_name_or_path: ./model\noutput_dir: out\nreward_funcs: x\nnum_generations: 2\nmax_completion_length: 32\nper_device_train_batch_size: 2\n",
      "model/config.json": JSON.stringify(model),
    };
    const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri("train.yaml"), {})).runs;
    assert.ok(run && peak(run) > 0);
    assert.match(assumed(run), /^one \d+ × \d+ picture/);
  });
});
