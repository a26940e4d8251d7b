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
});
