/** Models known by the name of their folder or of the copy. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { readCatalogue } from "../../src/analysis/models/catalogue";
import { guessModel } from "../../src/analysis/models/guess";
import { memoryRuntime, uri } from "./memory-runtime";

const catalogue = readCatalogue(memoryRuntime({}));
const guessed = async (name: string) => guessModel(name, await catalogue)?.entry.name;

describe("analysis: models guessed by their names", () => {
  it("takes folders and copies for what they are named after", async () => {
    assert.equal(await guessed("/data/models/Qwen2.5-7B-Instruct/"), "Qwen/Qwen2.5-7B");
    assert.equal(await guessed("D:\\models\\Llama-3.1-8B"), "meta-llama/Llama-3.1-8B");
    assert.equal(await guessed("me/Llama-3.1-8B-my-finetune"), "meta-llama/Llama-3.1-8B");
    assert.equal(
      await guessed("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B-copy"),
      "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B",
    );
  });

  it("takes stored copies and folders by the name of the repository, whether it says a size or not", async () => {
    assert.equal(await guessed("unsloth/phi-4-unsloth-bnb-4bit"), "microsoft/phi-4");
    assert.equal(await guessed("unsloth/gemma-4-E4B-it-unsloth-bnb-4bit"), "google/gemma-4-E4B");
    assert.equal(await guessed("./models/roberta-base"), "FacebookAI/roberta-base");
    assert.equal(await guessed("me/whisper-small-hi"), "openai/whisper-small");
    assert.equal(await guessed("/models/Qwen/Qwen2___5-Coder-1___5B/"), await guessed("me/Qwen2.5-Coder-1.5B"));
    assert.equal(await guessed("me/gemma-4-E2B-it-poems"), "google/gemma-4-E2B");
  });

  it("takes other signs in the place of a dot", async () => {
    assert.equal(await guessed("Qwen/Qwen2_5-7B-Instruct"), "Qwen/Qwen2.5-7B");
    assert.equal(await guessed("./checkpoints/vicuna-7b-v1-5"), await guessed("./vicuna-7b-v1.5"));
  });

  it("does not take a name without a size, or of another size, for anything", async () => {
    for (const name of ["./output", "me/my-model", "llama3-8b-pro", "me/Qwen2.5-8B", "gpt2-finetuned", ""])
      assert.equal(await guessed(name), undefined, name);
  });

  it("does not take a release of a publisher's own for what begins alike", async () => {
    assert.equal(await guessed("Alibaba-NLP/gte-large-en-v1.5"), undefined);
    assert.equal(await guessed("me/gte-large-en-v1.5"), "BAAI/bge-large-en-v1.5");
    assert.equal(await guessed("Qwen/Qwen2.5-7B-Tools-v2"), "Qwen/Qwen2.5-7B");
  });

  it("reads how a copy is quantized from its name", async () => {
    const guess = guessModel("TheBloke/Llama-2-7B-GPTQ", await catalogue);
    assert.equal(guess?.entry.name, "meta-llama/Llama-2-7b-hf");
    assert.deepEqual(guess?.config["quantization_config"], { quant_method: "gptq", bits: 4, group_size: 128 });
  });

  it("says so in the run, with the pin that settles it", async () => {
    const runtime = memoryRuntime({
      "train.yaml":
        "output_dir: out\nmodel_name_or_path: /models/Qwen2.5-0.5B-Instruct\nper_device_train_batch_size: 1\n",
    });
    const [run] = (await createAnalyzer(runtime).analyse(uri("train.yaml"), {})).runs;
    assert.equal(run?.model?.name, "Qwen/Qwen2.5-0.5B");
    assert.ok(run.assumptions.some(({ what, settleWith }) => settleWith === "model" && what.includes("by its name")));
  });
});
