/** A log beside the config of its run: the tensor that found no room is named. */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import { explainLog, likelyConfigs } from "../../src/analysis/explain/log";
import { deviceOf, findDevice, usableBytes } from "../../src/core/hardware/devices";
import { sizeWithRoom } from "../../src/core/hardware/room";
import { printed } from "../evidence/log/shapes";
import { unallocated } from "../evidence/log/wordings";
import { memoryRuntime, uri } from "./memory-runtime";

const root = join(__dirname, "../..");
const CONFIG = "train.yaml";
const files = {
  [CONFIG]: readFileSync(join(root, "samples/gpt2-scratch/train.yaml"), "utf8"),
  ".vramlens.yaml": readFileSync(join(root, "samples/gpt2-scratch/.vramlens.yaml"), "utf8"),
  "model/config.json": readFileSync(join(root, "samples/gpt2-scratch/model/config.json"), "utf8"),
};

const message = (asked: string, allocated: string, free = "311.50 MiB"): string =>
  unallocated({ asked, total: "7.79 GiB", free, process: "7.48 GiB", allocated, pool: "311.00 MiB" });

/** One for all, as a server has it: what was searched for one failure is known for the next on the same card. */
const analyzer = createAnalyzer(memoryRuntime(files));

async function explained(log: string, locale = "en") {
  return explainLog(log, { configs: [uri(CONFIG)], locale }, (document, options) =>
    analyzer.analyse(document, options),
  );
}

describe("a failure beside its config", () => {
  it("has the tensor of its phase with the segment's size, and changes that fit the card of the message", async () => {
    const [found] = await explained(printed("trainer-backward", "plain", message("786.00 MiB", "6.72 GiB")));
    assert.equal(found?.tensor?.operator, "_log_softmax_backward_data");
    assert.match(found?.tensorSaid[0] ?? "", /4 × 1024 × 50257, float32/);
    assert.equal(found?.cause, "needs-more");
    assert.ok(
      found?.advice.some(({ planIndex, usedPeakBytes }) => planIndex !== null && (usedPeakBytes ?? 0) < 7.79 * 2 ** 30),
    );
    assert.match(found?.estimate ?? "", /needed/);
  });

  it("is found by size and what was alive where the log has no traceback", async () => {
    const [found] = await explained(message("786.00 MiB", "6.72 GiB"));
    assert.equal(found?.part, "backward");
  });

  it("names the parameter whose state found no room", async () => {
    const [found] = await explained(printed("adamw-states", "plain", message("148.00 MiB", "2.30 GiB")));
    assert.equal(found?.tensor?.kind, "optimizer");
    assert.deepEqual(found?.tensor?.parameters, ["transformer.wte.weight"]);
  });

  it("says that the run was another where no tensor has the size, and with how many tokens one would", async () => {
    const [found] = await explained(printed("float-logits", "plain", message("1572.00 MiB", "5.00 GiB")));
    assert.equal(found?.tensor, null);
    assert.match(found?.tensorSaid.join(" ") ?? "", /other values/);
  });

  it("says no card where the message and the config name none, and this process is none of the others in a container", async () => {
    const cut = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 786.00 MiB. GPU ";
    const [unknown] = await explained(cut);
    assert.equal(unknown?.room, "");
    assert.doesNotMatch(unknown?.estimate ?? "", / 0 GiB/);
    const contained = {
      asked: "786.00 MiB",
      total: "7.79 GiB",
      free: "11.50 MiB",
      allocated: "6.72 GiB",
      pool: "0 bytes",
    };
    const [found] = await explained(unallocated({ ...contained, others: [[7, "7.48 GiB"]] }));
    assert.doesNotMatch(found?.room ?? "", /other processes/);
    assert.equal(found?.requestedBytes, 786 * 2 ** 20);
  });

  it("says why there is no estimate, not what the message leaves out", async () => {
    const script =
      "from transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained('gpt2').cuda()\nmodel(x).loss.backward()\n";
    const other = createAnalyzer(memoryRuntime({ "train.py": script }));
    const [found] = await explainLog(
      message("786.00 MiB", "6.72 GiB"),
      { configs: [uri("train.py")] },
      (document, options) => other.analyse(document, options),
    );
    assert.match(found?.estimate ?? "", /nothing says the batch size/);
  });

  it("is told in Chinese, too", async () => {
    const [found] = await explained(printed("trainer-backward", "plain", message("786.00 MiB", "6.72 GiB")), "zh-cn");
    assert.match(found?.title ?? "", /显存不足/);
  });
});

describe("a log and several configs", () => {
  it("is of those that it names", () => {
    assert.deepEqual(likelyConfigs("llamafactory-cli train b.yaml", [uri("a.yaml"), uri("b.yaml")]), [uri("b.yaml")]);
    assert.equal(likelyConfigs("", [uri("a.yaml"), uri("b.yaml")]).length, 2);
  });
});

describe("the card that a message describes", () => {
  it("has the room that the driver says, whatever a plain size keeps for itself", () => {
    for (const gib of [5.8, 14.75, 23.64, 39.39, 79.15, 139.8]) {
      const found = findDevice(sizeWithRoom(gib * 2 ** 30));
      assert.ok(found);
      const { name, memoryBytes, architecture } = found.device;
      const room = usableBytes(deviceOf({ name, memoryBytes, architecture, count: 1 }));
      assert.ok(Math.abs(room / 2 ** 30 - gib) < 0.02, `${gib}: ${room / 2 ** 30}`);
    }
  });
});
