/**
 * What diffusers' training scripts do, one row each, by their names without `train_`. Source: `examples/text_to_image` and
 * `examples/dreambooth` of diffusers, main at 2026-08 (their parsers' defaults, what they put on the device, what they delete).
 */
import { table } from "../../terms/table";

/** Whether a step makes something of its batch, or is given what was made once before it trains. */
export type Made = "encoded" | "given";

export interface DiffusionScript {
  /** Defaults of `--train_batch_size` and `--resolution`. */
  readonly batch: number;
  readonly resolution: number;
  readonly latents: Made;
  readonly texts: Made;
  /** The autoencoder stays in float32: always, or unless another one is named. */
  readonly wholeAutoencoder?: "always" | "own";
  /** What LoRA is put on; absent: every weight of the denoiser is trained. */
  readonly adapts?: readonly string[];
  /** `--lora_alpha`; the rank where the script has no such option. */
  readonly alpha?: number;
  /** Whether text encoders that a step calls are adapted or trained with the denoiser: what is put on them, `true` where all is. */
  readonly textsAdapt?: readonly string[] | true;
  /** `train_text_encoder` where nothing says it. */
  readonly trainsTexts?: boolean;
  /** The program's own modules around diffusers': its LoRA is in float32 and is given what the layer is given. */
  readonly own?: true;
  /** Attention keeps its scores unless another kernel is asked for (sd-scripts, library/original_unet.py, CrossAttention). */
  readonly keepsScores?: true;
  /** Tokens of a prompt: the default of `--max_sequence_length`, and those of other encoders that stand before them. */
  readonly tokens?: { readonly own: number; readonly before: number };
}

const ATTENTION = ["to_k", "to_q", "to_v", "to_out.0"] as const;
const JOINT = [...ATTENTION, "add_k_proj", "add_q_proj", "add_v_proj", "to_add_out"].map((name) => `attn.${name}`);
const FEEDING = ["ff.net.0.proj", "ff.net.2", "ff_context.net.0.proj", "ff_context.net.2"] as const;
/** The embeddings of the one prompt are made once, and the text encoders deleted. */
const ONCE = { latents: "encoded", texts: "given" } as const;
const FLUX = { batch: 4, resolution: 512, ...ONCE, tokens: { own: 512, before: 0 } } as const;
const SD3 = {
  batch: 4,
  resolution: 512,
  ...ONCE,
  tokens: { own: 77, before: 77 },
  wholeAutoencoder: "always",
} as const;

/** Linear layers and 1×1 convolutions of `Transformer2DModel` (sd-scripts, networks/lora.py, UNET_TARGET_REPLACE_MODULE). */
const TRANSFORMER = ["proj_in", "proj_out", ...ATTENTION, "ff.net.0.proj", "ff.net.2"];
/** `CLIPAttention` and `CLIPMLP` (TEXT_ENCODER_TARGET_REPLACE_MODULE). */
const CLIP = ["q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2"] as const;
/** Every linear layer of FLUX's blocks (networks/lora_flux.py; ai-toolkit, toolkit/lora_special.py with `transformer_only`). */
const BLOCKS = [
  ...JOINT,
  ...FEEDING,
  ...["norm1", "norm1_context", "norm"].map((name) => `${name}.linear`),
  "proj_mlp",
  "proj_out",
];
const OWN = { batch: 1, resolution: 512, latents: "encoded", own: true } as const;
const OWN_TOKENS = { own: 512, before: 0 };

/** Programs of sd-scripts (`train_network.py` and its heirs, `fine_tune.py`, `sdxl_train.py`, `flux_train.py`) and jobs of ai-toolkit. */
function ownScripts(): Readonly<Record<string, DiffusionScript>> {
  const unets = (["sd15", "sd21", "sdxl"] as const).flatMap((line) => {
    const row = { ...OWN, texts: "encoded", resolution: line === "sdxl" ? 1024 : 512 } as const;
    const lora = { ...row, adapts: TRANSFORMER, alpha: 1 };
    return [
      [`sd-scripts.lora.${line}`, { ...lora, textsAdapt: CLIP, trainsTexts: true, keepsScores: true }],
      [`sd-scripts.whole.${line}`, { ...row, textsAdapt: true, keepsScores: true }],
      [`sd-scripts.dreambooth.${line}`, { ...row, textsAdapt: true, trainsTexts: true, keepsScores: true }],
      [`ai-toolkit.lora.${line}`, { ...row, adapts: TRANSFORMER }],
      [`ai-toolkit.whole.${line}`, row],
    ] as const;
  });
  const flux = { ...OWN, texts: "given", tokens: OWN_TOKENS } as const;
  return Object.fromEntries([
    ...unets,
    ["sd-scripts.lora.flux", { ...flux, adapts: BLOCKS, alpha: 1 }],
    ["sd-scripts.whole.flux", flux],
    ["ai-toolkit.lora.flux", { ...flux, adapts: BLOCKS }],
    ["ai-toolkit.whole.flux", flux],
  ]);
}

export const DIFFUSION_SCRIPTS: Readonly<Record<string, DiffusionScript>> = table({
  ...ownScripts(),
  text_to_image: { batch: 16, resolution: 512, latents: "encoded", texts: "encoded" },
  text_to_image_lora: { batch: 16, resolution: 512, latents: "encoded", texts: "encoded", adapts: ATTENTION },
  text_to_image_sdxl: { batch: 16, resolution: 1024, latents: "given", texts: "given" },
  text_to_image_lora_sdxl: {
    batch: 16,
    resolution: 1024,
    latents: "encoded",
    texts: "encoded",
    wholeAutoencoder: "own",
    adapts: ATTENTION,
  },
  dreambooth: { batch: 4, resolution: 512, latents: "encoded", texts: "encoded" },
  dreambooth_lora: {
    batch: 4,
    resolution: 512,
    latents: "encoded",
    texts: "encoded",
    adapts: [...ATTENTION, "add_k_proj", "add_v_proj"],
  },
  dreambooth_lora_sdxl: { batch: 4, resolution: 1024, ...ONCE, wholeAutoencoder: "always", adapts: ATTENTION },
  dreambooth_flux: FLUX,
  dreambooth_lora_flux: { ...FLUX, adapts: [...JOINT, ...FEEDING], alpha: 4 },
  dreambooth_sd3: SD3,
  dreambooth_lora_sd3: { ...SD3, adapts: JOINT },
});
