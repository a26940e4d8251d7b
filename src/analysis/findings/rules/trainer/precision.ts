/** Dtypes of weights, states and products, and what the card has units for. */
import { optimizerRow } from "../../../../terms/optimizers";
import { hit, type Rule, set } from "../../rule";

export const TRAINER_PRECISION_RULES: readonly Rule[] = [
  {
    code: "fp32-load",
    severity: "warning",
    title: "Weights load as float32",
    why: "`bf16: true` and `fp16: true` only switch autocast on. Weights, gradients and optimizer states keep the dtype the model was loaded in: float32 is 16 bytes per parameter with Adam, bfloat16 is 8.",
    mend: "Load in bfloat16 (`dtype: bfloat16`) if pure bfloat16 training is what you want; it changes the numerics.",
    en: "{bytes} per parameter with {optimizer}: weights load in float32. `{precision}` only turns on autocast.",
    zh: "使用 {optimizer} 时每个参数 {bytes}：权重以 float32 加载。`{precision}` 只开启 autocast。",
    example: { trl: "bf16: true\noptim: adamw_torch" },
    check: (facts) => {
      const load = facts.resolution.resolved.get("load_dtype");
      const at = facts.own("bf16")?.value === true ? facts.own("bf16") : facts.own("fp16");
      const byDefault = load?.value === "float32" && (load.from === "default" || load.from === "assumed");
      const { name = "" } = facts.run?.optimizer ?? {};
      const adam = optimizerRow(name)?.adamw === true || name === "adamw_anyprecision";
      const full = facts.run !== null && facts.run.adapter === null && facts.inputs.deepspeed === undefined;
      return hit(at, at?.value === true && byDefault && adam && full, {
        args: { optimizer: facts.run?.optimizer.name ?? "", bytes: "16 B", precision: at?.key ?? "bf16" },
        fixes: [set("fix.load-bf16", {}, false, [{ name: "load_dtype", value: "bfloat16" }])],
      });
    },
  },
  {
    code: "fp16-weights",
    severity: "error",
    title: "float16 weights under fp16 autocast",
    why: 'The gradient scaler of `fp16: true` needs float32 weights; with float16 ones the first step fails with "Attempting to unscale FP16 gradients".',
    mend: "Load in float32, or use `bf16` with bfloat16 weights.",
    en: 'float16 weights under `fp16: true` fail with "Attempting to unscale FP16 gradients": load float32, or use bf16.',
    zh: "`fp16: true` 下的 float16 权重会报错“Attempting to unscale FP16 gradients”：请以 float32 加载，或改用 bf16。",
    example: { train: "fp16: true", pins: "dtype: float16" },
    check: (facts) => {
      const at = facts.own("fp16");
      const trainable = facts.run !== null && facts.run.adapter === null && facts.run.quantization === null;
      return hit(
        at,
        at?.value === true &&
          facts.run?.loadDtype === "float16" &&
          trainable &&
          // Those step on a float32 copy.
          facts.inputs.deepspeed === undefined &&
          facts.run.parallel.mainParameters === undefined,
      );
    },
  },
  {
    code: "half-states",
    severity: "hint",
    title: "Optimizer states follow the weights",
    why: "PyTorch's optimizers keep their states in the dtype of the parameters: with bfloat16 weights Adam takes 4 bytes per parameter, and there is no float32 master copy. Small updates may be lost.",
    mend: "Nothing to do for memory. For full precision load in float32 with `bf16: true`.",
    en: "Adam's states follow the bfloat16 weights: 8 bytes per parameter in all, not 16; there is no float32 master copy.",
    zh: "Adam 状态与 bfloat16 权重同精度：每个参数共 8 字节而非 16 字节；没有 float32 主副本。",
    example: { train: "optim: adamw_torch\nbf16: true", pins: "dtype: bfloat16" },
    check: (facts) => {
      const at = facts.own("optimizer");
      const adam = optimizerRow(String(at?.value))?.adamw === true;
      const full =
        facts.run?.adapter === null && facts.run.loadDtype === "bfloat16" && facts.run.parallel.deepspeed === null;
      return hit(at, adam && full);
    },
  },
  {
    code: "bf16-gpu",
    severity: "warning",
    title: "bfloat16 on a card without bfloat16 units",
    why: "Cards before Ampere compute bfloat16 through float32: slower than float16, and TrainingArguments may refuse it.",
    mend: "Use `fp16: true` with float32 weights on this card.",
    en: "{device} has no bfloat16 units: `bf16` is emulated there, or refused. Use `fp16`.",
    zh: "{device} 没有 bfloat16 单元：`bf16` 只能模拟或被拒绝，请使用 `fp16`。",
    example: { train: "bf16: true", pins: "device: Tesla T4" },
    check: (facts) => {
      const at = facts.own("bf16");
      const old = ["turing", "volta", "pascal", "maxwell"].includes(facts.run?.device?.architecture ?? "");
      return hit(at, at?.value === true && old, {
        args: { device: facts.run?.device?.name ?? "" },
        fixes: [set("fix.fp16", {}, false, [{ name: "compute_dtype", value: "fp16" }])],
      });
    },
  },
];
