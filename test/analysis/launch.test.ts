/** What a script's own command names beside its flags: accelerate's config, ms-swift's FSDP, ranks beside packed weights. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

const MODEL = { "model/config.json": JSON.stringify(TINY_LLAMA) };
const ACCELERATE = "distributed_type: FSDP\nnum_processes: 4\nmixed_precision: bf16\nfsdp_config: {fsdp_version: 2}\n";
const TRAINS = "train.py --model_name_or_path ./model --per_device_train_batch_size 1 --output_dir o";

describe("analysis: what a script's own command names", () => {
  it("accelerate's config is that of the run, also from the folder the script is started in", async () => {
    const script = `accelerate launch --config_file configs/fsdp.yaml ${TRAINS}\n`;
    const files = { ...MODEL, "configs/fsdp.yaml": ACCELERATE, "scripts/a/train.sh": script };
    const { run } = await resolveFiles(files, "scripts/a/train.sh");
    assert.equal(run?.parallel.worldSize, 4);
    assert.equal(run?.parallel.fsdp?.version, 2);
    const { report } = await createAnalyzer(memoryRuntime({ ...MODEL, "train.sh": script })).analyse(
      uri("train.sh"),
      {},
    );
    assert.deepEqual(
      report.runs[0]?.findings.filter(({ code }) => code === "missing-file").map(({ severity }) => severity),
      ["warning"],
    );
  });

  it("ms-swift's word for FSDP is its file, and a path one's own", async () => {
    const command = "NPROC_PER_NODE=2 swift sft --model ./model --tuner_type lora --per_device_train_batch_size 1";
    const own = JSON.stringify({
      fsdp: "full_shard auto_wrap",
      fsdp_config: { fsdp_version: 2, reshard_after_forward: false },
    });
    const files = {
      ...MODEL,
      "word.sh": `${command} --fsdp fsdp2\n`,
      "own.sh": `${command} --fsdp ./f.json\n`,
      "f.json": own,
    };
    const word = (await resolveFiles(files, "word.sh")).run;
    assert.deepEqual(
      [word?.parallel.fsdp?.version, word?.parallel.fsdp?.sharding, word?.parallel.fsdp?.reshardAfterForward],
      [2, "full_shard", true],
    );
    assert.equal((await resolveFiles(files, "own.sh")).run?.parallel.fsdp?.reshardAfterForward, false);
  });

  it("ms-swift's GaLore projects to its own rank", async () => {
    const command = "swift sft --model ./model --tuner_type full --use_galore true --per_device_train_batch_size 1";
    const { run } = await resolveFiles({ ...MODEL, "galore.sh": `${command}\n` }, "galore.sh");
    assert.equal(run?.optimizer.name, "galore_adamw");
    assert.equal(run?.optimizer.args["rank"], "128");
  });

  it("a rank beside packed weights is LoRA's, and parts of a sequence are one", async () => {
    const files = { ...MODEL, "qlora.sh": `python ${TRAINS} --bits 4 --lora_r 64 --target_max_len 128\n` };
    const { run } = await resolveFiles(files, "qlora.sh");
    assert.equal(run?.adapter?.type, "lora");
    assert.equal(run?.sequenceLength, 1024 + 128);
  });

  it("an option for the model without a value, whose variable is left empty, names none", async () => {
    const text = `path=\npython ${TRAINS.replace("./model", "$path")}\n`;
    const [run] = (await createAnalyzer(memoryRuntime({ "train.sh": text })).analyse(uri("train.sh"), {})).runs;
    assert.equal(run?.settings.find(({ name }) => name === "model")?.value ?? null, null);
    assert.ok(
      run?.findings.some(({ code, message }) => code === "invalid-value" && message.includes("model_name_or_path")),
    );
  });
});
