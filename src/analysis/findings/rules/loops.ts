/** Training loops of one's own. */
import { hit, type Rule } from "../rule";

export const LOOP_RULES: readonly Rule[] = [
  {
    code: "checkpointing-in-evaluation",
    severity: "warning",
    title: "Checkpointing does nothing in evaluation mode",
    why: "`from_pretrained` returns the model in evaluation mode, and layers of transformers are recomputed in training mode only (transformers/modeling_layers.py, GradientCheckpointingLayer). Without `model.train()` every activation is kept, and dropout is off.",
    mend: "Call `model.train()` before the loop.",
    en: "Checkpointing has no effect: `model.train()` is never called, so the model stays in evaluation mode.",
    zh: "梯度检查点没有作用：从未调用 `model.train()`，模型一直处于评估模式。",
    example: {
      script:
        'import torch\nfrom transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained("./model").cuda()\nmodel.gradient_checkpointing_enable()\noptimizer = torch.optim.AdamW(model.parameters())\nfor batch in torch.utils.data.DataLoader(data, batch_size=2):\n    loss = model(**batch).loss\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n',
    },
    check: (facts) => {
      const at = facts.own("gradient_checkpointing");
      return hit(at, at?.value === true && facts.run?.loop?.evaluates === true);
    },
  },
];
