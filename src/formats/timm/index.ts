/** timm: `args.yaml` of a run and flags of `train.py`. */

import { dataView, shellViews } from "../carriers";
import type { Deriving } from "../deriving";
import { hasWith, NOT_RECOGNISED, passes } from "../recognition";
import { count, schemaFormat, type View } from "../schema";
import { TIMM_KEYS } from "./keys";

const MARKS = [
  "aa",
  "sched",
  "opt",
  "drop_path",
  "reprob",
  "remode",
  "color_jitter",
  "mixup",
  "cutmix",
  "smoothing",
  "warmup_lr",
  "model_ema",
  "amp",
  "weight_decay",
  "batch_size",
  "crop_pct",
  "channels_last",
  "grad_checkpointing",
];

/** Optimizers that are given `--momentum`, by the one whose states and step they have (timm/optim/_optim_factory.py). */
const WITH_MOMENTUM: ReadonlyMap<string, string> = new Map([
  ["sgd", "sgd"],
  ["nesterov", "sgd"],
  ["momentum", "sgd"],
  ["rmsprop", "rmsprop"],
]);
/** Default of `--momentum` (train.py). */
const MOMENTUM = 0.9;

/** Its loop is no trainer of transformers; its optimizers take the momentum that stands beside them. */
function derive(d: Deriving, { map }: View): void {
  const model = d.find("model");
  if (model === undefined) return;
  d.make(model, "own_loop", true);
  const optimizer = d.find("optimizer") ?? model;
  const named = optimizer === model ? "sgd" : String(optimizer.value).toLowerCase();
  const alike = WITH_MOMENTUM.get(named);
  if (alike === undefined) return;
  if (alike !== named) d.make(optimizer, "optimizer", alike);
  const said = map.entries.find(({ key }) => key === "momentum")?.value;
  const momentum = said?.kind === "scalar" && typeof said.value === "number" ? said.value : MOMENTUM;
  d.make(optimizer, "optim_args", `momentum=${momentum}`);
}

export const timm = schemaFormat({
  id: "timm",
  keys: TIMM_KEYS,
  derive,
  views: (document) => dataView(document, ["yaml"]),
  recognise({ map }) {
    const marks = count(map, MARKS);
    return count(map, ["model"]) > 0 && count(map, ["opt", "sched", "aa", "drop_path", "reprob"]) >= 2 && marks >= 4
      ? { confidence: 0.93, because: hasWith("model", marks, "timm") }
      : NOT_RECOGNISED;
  },
});

/** Options that torchvision's reference script of the same name has and timm's has not (references/classification/train.py). */
const TORCHVISION = words(
  "data_path lr_scheduler lr_warmup_epochs lr_warmup_method lr_warmup_decay lr_step_size lr_gamma lr_min auto_augment",
  "random_erase label_smoothing mixup_alpha cutmix_alpha train_crop_size val_crop_size val_resize_size ra_sampler",
  "norm_weight_decay bias_weight_decay transformer_embedding_decay model_ema_steps print_freq weights test_only use_v2",
  "use_deterministic_algorithms cache_dataset weights_backend dist_url world_size",
);
/** Options of timm's script that few others have. */
const OWN = words(
  "aa sched sched_on_updates remode reprob recount resplit drop_path drop_block warmup_lr warmup_prefix color_jitter",
  "crop_pct model_ema model_ema_decay smoothing opt_eps opt_betas aug_repeats aug_splits mixup_mode jsd_loss bce_loss",
  "amp_dtype amp_impl lr_base lr_base_size lr_noise decay_epochs decay_milestones cooldown_epochs patience_epochs",
  "grad_accum_steps grad_checkpointing layer_decay clip_mode initial_checkpoint model_kwargs train_interpolation",
  "split_bn dist_bn checkpoint_hist recovery_interval pin_mem tta input_size train_split val_split class_map",
);
/** Those that others have, too. */
const SHARED = words(
  "data_dir dataset b vb img_size num_classes pretrained amp opt weight_decay batch_size epochs mixup cutmix momentum",
  "channels_last clip_grad warmup_epochs min_lr workers j torchcompile experiment sync_bn drop lr gp",
);

function words(...lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => line.split(" "));
}

/** What starts timm's `train.py` on all GPUs of a machine, which no other has. */
const STARTER = /(?:^|\/)distributed_train\.sh$/;
const SCRIPT = /(?:^|\/)train\.py$/;
/** What a command of timm's own script passes at least, where it passes one of its own options and where none. */
const ENOUGH = { withOwn: 2, without: 4 };

export const timmShell = schemaFormat({
  id: "timm",
  carrier: "shell",
  keys: TIMM_KEYS,
  derive,
  views: shellViews,
  recognise(view) {
    const { map } = view;
    const started = view.words.some((word) => STARTER.test(word));
    if (!started && !view.words.some((word) => SCRIPT.test(word))) return NOT_RECOGNISED;
    if (count(map, ["model"]) === 0 || count(map, TORCHVISION) > 0) return NOT_RECOGNISED;
    const own = count(map, OWN) + (started ? 1 : 0);
    const all = own + count(map, SHARED);
    return all >= (own > 0 ? ENOUGH.withOwn : ENOUGH.without)
      ? { confidence: own > 1 ? 0.88 : 0.6, because: passes(all, "timm") }
      : NOT_RECOGNISED;
  },
});
