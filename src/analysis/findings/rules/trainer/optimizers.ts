/** Optimizers by name. */
import { optimizerRow } from "../../../../terms/optimizers";
import { hit, type Rule, replacement, set } from "../../rule";

export const TRAINER_OPTIMIZERS_RULES: readonly Rule[] = [
  {
    code: "layerwise-accumulation",
    severity: "error",
    title: "Layer-wise optimizer with gradient accumulation",
    why: "Layer-wise GaLore and APOLLO and LOMO apply each gradient inside backward and free it; there is nothing to accumulate. transformers raises for the layer-wise optimizers.",
    mend: "Set `gradient_accumulation_steps` to 1, or use the optimizer that is not layer-wise.",
    en: "{optimizer} updates inside backward and cannot accumulate: `gradient_accumulation_steps` must be 1, it is {steps}.",
    zh: "{optimizer} 在反向过程中更新，无法累积：`gradient_accumulation_steps` 必须为 1，当前为 {steps}。",
    example: {
      train: "optim: galore_adamw_layerwise\noptim_target_modules: all-linear\ngradient_accumulation_steps: 4",
    },
    check: (facts) => {
      const at = facts.own("gradient_accumulation_steps");
      const optimizer = String(facts.own("optimizer")?.value ?? "");
      return hit(at, optimizerRow(optimizer)?.inBackward === true && typeof at?.value === "number" && at.value > 1, {
        args: { optimizer, steps: Number(at?.value ?? 1) },
        related: [facts.own("optimizer")],
        fixes: replacement(at, "1", false),
      });
    },
  },
  {
    code: "layerwise-ranks",
    severity: "error",
    title: "Layer-wise optimizer on several GPUs",
    why: 'Layer-wise GaLore and APOLLO raise "Layer-wise … does not support DDP at this time".',
    mend: "Use the variant that is not layer-wise, or one GPU.",
    en: "{optimizer} does not support several GPUs ({world} here).",
    zh: "{optimizer} 不支持多张 GPU（当前 {world} 张）。",
    example: {
      train: "optim: galore_adamw_layerwise\noptim_target_modules: all-linear",
      pins: "device: { name: 24GB, count: 2 }",
    },
    check: (facts) => {
      const at = facts.own("optimizer");
      return hit(at, optimizerRow(String(at?.value))?.layerwise === true && (facts.world ?? 1) > 1, {
        args: { optimizer: String(at?.value), world: facts.world ?? 1 },
      });
    },
  },
  {
    code: "optimizer-target-modules",
    severity: "error",
    title: "GaLore or APOLLO without target modules",
    why: "These optimizers project the gradients of chosen modules and raise without `optim_target_modules`.",
    mend: "Add `optim_target_modules: all-linear`, or a list of names.",
    en: "{optimizer} needs `optim_target_modules` and stops without it.",
    zh: "{optimizer} 需要 `optim_target_modules`，否则会报错。",
    example: { train: "optim: galore_adamw" },
    check: (facts) => {
      const at = facts.own("optimizer");
      return hit(
        at,
        optimizerRow(String(at?.value))?.projects === true && facts.own("optim_target_modules") === undefined,
        {
          args: { optimizer: String(at?.value) },
          fixes: [set("fix.target-modules", {}, false, [{ name: "optim_target_modules", value: "all-linear" }])],
        },
      );
    },
  },
];
