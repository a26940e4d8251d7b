/**
 * diffusers' training scripts against PyTorch: commands whose peaks `capture/truth/diffusion_receipts.py` took from diffusers' and
 * transformers' own modules on fake CUDA tensors.
 */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { rowsOf } from "../rows";
import { memoryRuntime, uri } from "./memory-runtime";

interface Row {
  readonly id: string;
  readonly command: string;
  /** `torch.cuda.max_memory_allocated` in bytes. */
  readonly allocated: number;
}

async function runOf(command: string) {
  const [run] = (await createAnalyzer(memoryRuntime({ "run.sh": command })).analyse(uri("run.sh"), {})).runs;
  assert.ok(run);
  return run;
}

const SDXL =
  "accelerate launch train_dreambooth_lora_sdxl.py --pretrained_model_name_or_path=stabilityai/stable-diffusion-xl-base-1.0 --instance_data_dir=d --resolution=512";

describe("analysis: training scripts of diffusers", () => {
  for (const { id, command, allocated } of rowsOf<Row>(__dirname, "diffusion.jsonl")) {
    it(id, async () => {
      const run = await runOf(command);
      const found = run.perDevice?.allocatedPeakBytes ?? 0;
      assert.ok(Math.abs(found - allocated) <= 0.001 * allocated, `${found}, PyTorch ${allocated}`);
    });
  }

  it("trains the denoiser, or what LoRA puts on it", async () => {
    const whole = await runOf(
      `${SDXL.replace("dreambooth_lora_sdxl", "text_to_image_sdxl")} --gradient_checkpointing\n`,
    );
    assert.equal(whole.model?.trainableParameters, 2567463684);
    const lora = await runOf(`${SDXL} --rank=4 --gradient_checkpointing\n`);
    assert.equal(lora.model?.trainableParameters, 5806080);
    assert.equal(lora.settings.find(({ name }) => name === "micro_batch_size")?.value, 4);
  });

  it("says which options are not counted", async () => {
    const run = await runOf(`${SDXL} --gradient_checkpointing --cache_latents\n`);
    assert.ok(run.assumptions.some(({ what }) => what.includes("cache_latents ↓")));
  });

  it("has no estimate of a script, or of a part trained with it, that is not followed", async () => {
    for (const command of [`${SDXL} --train_text_encoder\n`, SDXL.replace("dreambooth_lora_sdxl", "controlnet_sdxl")]) {
      const run = await runOf(command);
      assert.equal(run.perDevice, null);
      assert.ok(run.findings.some(({ code }) => code === "not-modelled"));
    }
  });

  const KOHYA =
    "accelerate launch sdxl_train_network.py --pretrained_model_name_or_path=pony.safetensors --train_data_dir=d --resolution=512,512 --network_module=networks.lora --network_dim=32 --mixed_precision=bf16 --sdpa --gradient_checkpointing";

  it("takes sd-scripts' LoRA for what its modules are put on, in float32", async () => {
    const both = await runOf(`${KOHYA}\n`);
    const unet = await runOf(`${KOHYA} --network_train_unet_only\n`);
    // what `create_network` of networks/lora.py makes: 722 modules in the U-Net, 264 in the text encoders
    assert.equal(unet.model?.trainableParameters, 85_114_880);
    assert.equal(
      both.model?.trainableParameters,
      85_114_880 + 32 * 12 * (4 * 2 * 768 + 2 * 3840) + 32 * 32 * (4 * 2 * 1280 + 2 * 6400),
    );
    assert.equal(unet.perDevice?.components.find(({ kind }) => kind === "adapters")?.bytes, 4 * 85_114_880);
    assert.ok(unet.assumptions.some(({ what }) => what.includes("pony.safetensors")));
    assert.ok(unet.assumptions.some(({ what }) => what.includes("sd-scripts")));
  });

  it("is near sd-scripts' own U-Net and LoRA on fake tensors", async () => {
    // SDXL, 1024 × 1024, a batch of 1, rank 32, float16, `--sdpa`, checkpointing, AdamW, everything cached: 7,018,422,784 bytes
    const cached = "--network_train_unet_only --cache_latents --cache_text_encoder_outputs --optimizer_type AdamW";
    const run = await runOf(`${KOHYA.replace("512,512", "1024,1024").replace("bf16", "fp16")} ${cached}\n`);
    assert.ok(Math.abs(Number(run.perDevice?.allocatedPeakBytes) / 7_018_422_784 - 1) < 0.005);
  });

  it("keeps on the device what is not cached", async () => {
    const said = ["", " --cache_latents", " --cache_latents --cache_text_encoder_outputs"];
    const peaks = await Promise.all(
      said.map(
        async (more) => (await runOf(`${KOHYA} --network_train_unet_only${more}\n`)).perDevice?.allocatedPeakBytes,
      ),
    );
    assert.deepEqual(
      [...peaks].sort((a, b) => Number(b) - Number(a)),
      peaks,
    );
    assert.equal(new Set(peaks).size, 3);
  });

  it("has no estimate of sd-scripts' other networks", async () => {
    const run = await runOf(`${KOHYA.replace("networks.lora", "lycoris.kohya")}\n`);
    assert.equal(run.perDevice, null);
    assert.ok(run.findings.some(({ code }) => code === "not-modelled"));
  });

  it("takes ai-toolkit's quantized FLUX in 8 bits, with the text encoders beside it", async () => {
    const job = (more: string) =>
      `job: extension\nconfig:\n  process:\n    - type: sd_trainer\n      network: { type: lora, linear: 16 }\n      datasets:\n        - folder_path: d\n          resolution: [512, 1024]\n          cache_latents_to_disk: true\n      train: { batch_size: 1, dtype: bf16, optimizer: adamw8bit${more} }\n      model: { name_or_path: a/b, is_flux: true, quantize: true }\n`;
    const of = async (text: string) =>
      (await createAnalyzer(memoryRuntime({ "job.yaml": text })).analyse(uri("job.yaml"), {})).runs[0]?.perDevice;
    const all = await of(job(""));
    const cached = await of(job(", cache_text_embeddings: true"));
    const weights = cached?.components.find(({ kind }) => kind === "weights")?.bytes;
    assert.equal(weights, 11_901_467_136);
    assert.ok(Number(all?.allocatedPeakBytes) - Number(cached?.allocatedPeakBytes) > 4.8e9);
  });
});
