/** Optimizers that remember many steps are counted with a full memory. */
import { strict as assert } from "node:assert";
import { resolveFiles } from "./resolve-run";

describe("analysis: a loop with LBFGS", () => {
  it("has its history, iterations and line search, and says that it is counted full", async () => {
    const script = [
      "import torch",
      "from torch.utils.data import DataLoader",
      "from transformers import AutoModelForCausalLM",
      'model = AutoModelForCausalLM.from_pretrained("gpt2").cuda()',
      'optimizer = torch.optim.LBFGS(model.parameters(), history_size=10, max_iter=4, line_search_fn="strong_wolfe")',
      "for ids in DataLoader(torch.randint(0, 50257, (100, 512)), batch_size=4):",
      "    def closure():",
      "        optimizer.zero_grad()",
      "        loss = model(input_ids=ids.cuda(), labels=ids.cuda()).loss",
      "        loss.backward()",
      "        return loss",
      "    optimizer.step(closure)",
    ];
    const { run, suppositions } = await resolveFiles({ "train.py": script.join("\n") }, "train.py");
    assert.equal(run?.optimizer.name, "lbfgs");
    assert.deepEqual(run?.optimizer.args, { history_size: "10", max_iter: "4", line_search_fn: "strong_wolfe" });
    assert.ok(suppositions.some(({ message }) => message.id === "assume.history-full"));
  });
});
