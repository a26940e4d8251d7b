/** Programs of sd-scripts: their commands, the TOML that `--config_file` names, and presets of the kohya_ss front end. */

import { dataView, shellViews } from "../carriers";
import type { Deriving } from "../deriving";
import { type Line, lineNamed, PUBLISHED } from "../diffusers/published";
import { NOT_RECOGNISED, passes, runs } from "../recognition";
import { count, schemaFormat, type View } from "../schema";
import { COSTLESS, SD_SCRIPTS_KEYS } from "./keys";

const PROGRAM =
  /(?:^|[\\/])((?:sdxl_|flux_|sd3_|lumina_|hunyuan_image_|anima_)?train(?:_network|_textual_inversion|_controlnet|_control_net\w*|_db|_leco)?|fine_tune)\.py$/;
/** Options that no other library's programs have. */
const MARKS = [
  "network_module",
  "network_dim",
  "network_alpha",
  "network_train_unet_only",
  "train_data_dir",
  "dataset_config",
  "optimizer_type",
  "bucket_reso_steps",
  "enable_bucket",
  "min_bucket_reso",
  "max_bucket_reso",
  "cache_latents",
  "cache_latents_to_disk",
  "caption_extension",
  "caption_dropout_rate",
  "no_half_vae",
  "save_every_n_epochs",
  "max_data_loader_n_workers",
  "keep_tokens",
  "shuffle_caption",
  "min_snr_gamma",
  "noise_offset",
  "prior_loss_weight",
  "clip_skip",
  "LoRA_type",
  "max_resolution",
];
const MODEL = ["pretrained_model_name_or_path", "sdxl", "flux1_checkbox", "v2"];

/** Files that models of text and pictures in one checkpoint do not have. */
const OF_FLUX = ["clip_l", "t5xxl", "ae"];
const LARGE = /xl|pony|illustrious|noobai/i;

/** The line of models: by the program's prefix, by a preset's switch, by what only programs of one line take. */
function lineOf(d: Deriving, { map }: View, program: string | undefined): Line | undefined {
  const stated = lineNamed(d.find("model_type")?.value);
  const prefix = /^(sdxl|flux|sd3|lumina|hunyuan_image|anima)_/.exec(program ?? "")?.[1];
  if (prefix !== undefined) return lineNamed(prefix);
  if (program !== undefined || stated !== undefined) return stated ?? "sd15";
  const network = String(d.find("network_module")?.value ?? "");
  if (/flux/i.test(network)) return "flux";
  if (/sd3|lumina|anima/i.test(network)) return undefined;
  if (count(map, OF_FLUX) >= 2 && count(map, ["clip_g"]) === 0) return "flux";
  const large = d.has("cached_texts", "whole_autoencoder") || LARGE.test(String(d.find("model")?.value ?? ""));
  return large ? "sdxl" : "sd15";
}

/** Networks of other kinds than LoRA (LyCORIS, DyLoRA, OFT) are named by their module or, in a preset, by their type. */
const LORA = /^(?:networks\.lora(?:_flux)?|Standard|Flux1|(?:Kohya |LyCORIS\/)LoCon)$/;

/** The side of the square that a picture of `width,height` has as many pixels as. */
function sideOf(written: unknown): number | undefined {
  const sides = /^\s*(\d{2,5})\s*,\s*(\d{2,5})\s*$/.exec(String(written));
  return sides === null ? undefined : Math.floor(Math.sqrt(Number(sides[1]) * Number(sides[2])) / 64) * 64;
}

function derive(d: Deriving, view: View): void {
  const program = view.words.map((word) => PROGRAM.exec(word)?.[1]).find((name) => name !== undefined);
  const [first] = d.stated;
  const side = d.find("image_size");
  if (typeof side?.value === "string") d.make(side, "image_size", sideOf(side.value));
  const network = d.find("network_module");
  const adapts = program === undefined ? d.has("network_module", "lora_rank") : program.endsWith("train_network");
  // A preset has the program's switch by the rates (kohya_gui/lora_gui.py, _determine_training_flags…; train_model).
  const rate = view.map.entries.find(({ key }) => key === "text_encoder_lr");
  if (rate?.value.kind === "scalar" && Number(rate.value.value) === 0 && count(view.map, ["LoRA_type"]) > 0)
    d.make(network, "train_text_encoder", false);
  const other = adapts && network !== undefined && !LORA.test(String(network.value));
  const inverts = count(view.map, ["num_vectors_per_token", "init_word", "token_string"]) > 0;
  const whole = (program === undefined && !inverts) || /^(?:\w+_)?train$|^train_db$|^fine_tune$/.test(program ?? "");
  const line = lineOf(d, view, program);
  d.make(d.find("model") ?? first, "config_name", line === undefined ? undefined : PUBLISHED[line]);
  const kind = other ? String(network.value) : adapts ? "lora" : whole ? (program ?? "fine_tune") : program;
  const known = line !== undefined && !other && (adapts || whole);
  const named = program === "train_db" ? "sd-scripts.dreambooth" : `sd-scripts.${adapts ? "lora" : "whole"}.${line}`;
  d.make(
    network ?? first,
    "training_script",
    known ? named : `${program ?? "sd-scripts"} ${kind ?? "textual inversion"}`,
  );
}

const recognise = (view: View) => {
  const marks = count(view.map, MARKS);
  const model = count(view.map, MODEL) > 0;
  const program = view.words.find((word) => PROGRAM.test(word));
  if (program !== undefined && marks >= 2) return { confidence: 0.98, because: runs(program) };
  return marks >= 5 && model ? { confidence: 0.96, because: passes(marks, "sd-scripts") } : NOT_RECOGNISED;
};

export const sdScriptsShell = schemaFormat({
  id: "sd-scripts",
  carrier: "shell",
  keys: SD_SCRIPTS_KEYS,
  views: shellViews,
  recognise,
  readsBeside: (path) => COSTLESS.test(path),
  derive,
  links: (_settings, view) => {
    const entry = view.map.entries.findLast(({ key }) => key === "config_file");
    if (entry?.value.kind !== "scalar" || typeof entry.value.value !== "string") return [];
    return [{ kind: "trainer", target: entry.value.value, span: { start: entry.value.start, end: entry.value.end } }];
  },
});

/** Names of sections mean nothing (`library/train_util.py`, read_config_from_file): what stands in them is at the top, too. */
function sectioned([view]: readonly View[]): readonly View[] {
  if (view === undefined) return [];
  const entries = view.map.entries.flatMap((entry) => (entry.value.kind === "map" ? entry.value.entries : [entry]));
  return [entries.length === view.map.entries.length ? view : { map: { ...view.map, entries }, words: [] }];
}

export const sdScripts = schemaFormat({
  id: "sd-scripts",
  keys: SD_SCRIPTS_KEYS,
  views: (document) => sectioned(dataView(document, ["toml", "json"])),
  recognise,
  readsBeside: (path) => COSTLESS.test(path),
  derive,
});
