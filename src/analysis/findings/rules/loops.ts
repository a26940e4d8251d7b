/** Training loops of one's own. */
import { hit, type Rule, rule } from "../rule";

export const LOOP_RULES: readonly Rule[] = [
  rule("checkpointing-in-evaluation", "warning", (facts) => {
    const at = facts.own("gradient_checkpointing");
    return hit(at, at?.value === true && facts.run?.loop?.evaluates === true);
  }),
];
