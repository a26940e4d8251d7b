/** Training scripts of diffusers, started from a shell. */

import { shellViews } from "../carriers";
import { NOT_RECOGNISED, passes, runs } from "../recognition";
import { count, schemaFormat } from "../schema";
import { DIFFUSERS_KEYS } from "./keys";

const SCRIPT =
  /(?:^|\/)train_(?:text_to_image|dreambooth|controlnet|instruct_pix2pix|unconditional|lcm|custom_diffusion|cogvideox|t2i_adapter|ppo_diffusion|lora_\w|\w{0,60}(?:flux|sdxl|sd3|lora_prodigy|textual_inversion|wuerstchen|kandinsky))\w{0,60}\.py$|(?:^|\/)textual_inversion\w{0,60}\.py$/;
const MARKS = [
  "train_batch_size",
  "resolution",
  "instance_data_dir",
  "class_data_dir",
  "instance_prompt",
  "validation_prompt",
  "enable_xformers_memory_efficient_attention",
  "with_prior_preservation",
  "max_train_steps",
  "use_8bit_adam",
  "snr_gamma",
  "train_text_encoder",
  "center_crop",
  "random_flip",
  "checkpointing_steps",
  "controlnet_model_name_or_path",
  "proportion_empty_prompts",
];

export const diffusersShell = schemaFormat({
  id: "diffusers",
  carrier: "shell",
  keys: DIFFUSERS_KEYS,
  views: shellViews,
  recognise(view) {
    const marks = count(view.map, MARKS);
    const model = count(view.map, ["pretrained_model_name_or_path"]) > 0;
    const script = view.words.find((word) => SCRIPT.test(word));
    if (script !== undefined && (marks > 0 || model)) return { confidence: 0.97, because: runs(script) };
    if (model && marks >= 2)
      return {
        confidence: 0.94,
        because: passes(marks, "diffusers"),
      };
    return marks >= 4 && count(view.map, ["per_device_train_batch_size"]) === 0
      ? { confidence: 0.8, because: passes(marks, "diffusers") }
      : NOT_RECOGNISED;
  },
  derive(d, view) {
    const script = view.words.find((word) => SCRIPT.test(word));
    const [first] = d.stated;
    if (script === undefined) return;
    // The LoRA scripts always train adapters; `--rank` has a default.
    if (/lora\w{0,80}\.py$/.test(script) && !d.has("adapter")) d.make(d.find("lora_rank") ?? first, "adapter", "lora");
    d.make(first, "training_script", /train_(\w{1,80})\.py$/.exec(script)?.[1]);
  },
});
