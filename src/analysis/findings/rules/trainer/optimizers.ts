/** Optimizers by name. */
import { optimizerRow } from "../../../../terms/optimizers";
import { hit, type Rule, replacement, rule, set } from "../../rule";

export const TRAINER_OPTIMIZERS_RULES: readonly Rule[] = [
  rule("layerwise-accumulation", "error", (facts) => {
    const at = facts.own("gradient_accumulation_steps");
    const optimizer = String(facts.own("optimizer")?.value ?? "");
    return hit(at, optimizerRow(optimizer)?.inBackward === true && typeof at?.value === "number" && at.value > 1, {
      args: { optimizer, steps: Number(at?.value ?? 1) },
      related: [facts.own("optimizer")],
      fixes: replacement(at, "1", false),
    });
  }),
  rule("layerwise-ranks", "error", (facts) => {
    const at = facts.own("optimizer");
    return hit(at, optimizerRow(String(at?.value))?.layerwise === true && (facts.world ?? 1) > 1, {
      args: { optimizer: String(at?.value), world: facts.world ?? 1 },
    });
  }),
  rule("optimizer-target-modules", "error", (facts) => {
    const at = facts.own("optimizer");
    return hit(
      at,
      optimizerRow(String(at?.value))?.projects === true && facts.own("optim_target_modules") === undefined,
      {
        args: { optimizer: String(at?.value) },
        fixes: [set("fix.target-modules", {}, false, [{ name: "optim_target_modules", value: "all-linear" }])],
      },
    );
  }),
];
