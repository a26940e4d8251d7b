/** Dtypes of weights, states and products, and what the card has units for. */
import { optimizerRow } from "../../../../terms/optimizers";
import { hit, type Rule, rule, set } from "../../rule";

export const TRAINER_PRECISION_RULES: readonly Rule[] = [
  rule("fp32-load", "warning", (facts) => {
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
  }),
  rule("fp16-weights", "error", (facts) => {
    const at = [facts.own("fp16"), facts.own("loop_scales")].find((one) => one?.value === true);
    const trainable = facts.run !== null && facts.run.adapter === null && facts.run.quantization === null;
    // A script's own modules beside frozen weights are float32.
    const own = facts.run?.trained !== undefined && facts.run.ownLoss !== undefined;
    return hit(
      at,
      facts.run?.loadDtype === "float16" &&
        trainable &&
        !own &&
        // Those step on a float32 copy.
        facts.inputs.deepspeed === undefined &&
        facts.run.parallel.mainParameters === undefined,
      { args: { key: at?.key ?? "" } },
    );
  }),
  rule("half-states", "hint", (facts) => {
    const at = facts.own("optimizer");
    const adam = optimizerRow(String(at?.value))?.adamw === true;
    const full =
      facts.run?.adapter === null && facts.run.loadDtype === "bfloat16" && facts.run.parallel.deepspeed === null;
    return hit(at, adam && full);
  }),
  rule("bf16-gpu", "warning", (facts) => {
    const at = facts.own("bf16");
    const old = ["turing", "volta", "pascal", "maxwell"].includes(facts.run?.device?.architecture ?? "");
    return hit(at, at?.value === true && old, {
      args: { device: facts.run?.device?.name ?? "" },
      fixes: [set("fix.fp16", {}, false, [{ name: "compute_dtype", value: "fp16" }])],
    });
  }),
];
