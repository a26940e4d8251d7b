/** YAML of clusters: its script is read where it stands, and what the job asks for is what the run has. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { recogniseFormat } from "../../src/formats";
import { parseDocument } from "../../src/formats/parse";
import type { SettingChange } from "../../src/formats/types";
import { applyEdits } from "../../src/syntax/edit";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

const SKY = `name: tune
resources:
  accelerators: {A100: 4, H100: 8}
num_nodes: 2
envs:
  MODEL: ./model
  BATCH: 4
setup: pip install transformers
run: |
  cat > hosts <<EOF
  one
  EOF
  torchrun --nnodes $SKYPILOT_NUM_NODES --nproc_per_node $SKYPILOT_NUM_GPUS_PER_NODE \\
    train.py --model_name_or_path $MODEL \\
    --per_device_train_batch_size $BATCH \\
    --output_dir out --gradient_checkpointing False --bf16 True --save_strategy no --save_total_limit 1
`;

const POD = `apiVersion: kubeflow.org/v1
kind: PyTorchJob
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          nodeSelector:
            nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3
          containers:
            - command: [torchrun, train.py, "--model_name_or_path=./model"]
              args:
                - --per_device_train_batch_size
                - "4"
                - --output_dir=$(OUT)
                - --fsdp=full_shard auto_wrap
              env: [{name: OUT, value: /out}]
              resources: {limits: {nvidia.com/gpu: 8}}
    Worker:
      replicas: 3
      template:
        spec:
          containers:
            - command: [torchrun, train.py]
              resources: {limits: {nvidia.com/gpu: 8}}
`;

const STARTING = `apiVersion: batch/v1
kind: Job
spec:
  parallelism: 1
  template:
    spec:
      affinity: {nodeAffinity: {x: [{matchExpressions: [{key: node.kubernetes.io/instance-type, operator: In, values: [g5.12xlarge]}]}]}}
      containers:
        - command: ["bash", "-c"]
          args:
            - |
              pip install axolotl
              axolotl train qlora.yml
          resources: {limits: {nvidia.com/gpu: "2"}}
`;
const QLORA = "base_model: ./model\nadapter: lora\nlora_r: 8\nmicro_batch_size: 2\nsequence_len: 128\ndatasets: []\n";

function readOf(text: string, name = "job.yaml") {
  const document = parseDocument(uri(name), text);
  const format = document === undefined ? undefined : recogniseFormat(document)?.format;
  assert.ok(document !== undefined && format !== undefined);
  const { settings } = format.read(document);
  const value = (key: string) => settings.find((setting) => setting.name === key)?.value;
  const written = (key: string) => {
    const found = settings.find((setting) => setting.name === key);
    const place = found?.node.kind === "scalar" ? (found.node.source ?? found.valueSpan) : found?.valueSpan;
    return place === undefined ? undefined : text.slice(place.start, place.end);
  };
  const edited = (...changes: SettingChange[]) => {
    const result = format.edit(document, changes);
    return "refused" in result ? result.refused.id : applyEdits(text, result.edits);
  };
  return { value, written, edited };
}

describe("analysis: jobs of clusters", () => {
  it("SkyPilot's script has the task's variables, and every value stands where it is written", () => {
    const { value, written, edited } = readOf(SKY);
    assert.deepEqual(["model", "micro_batch_size", "world_size", "device", "granted_devices"].map(value), [
      "./model",
      4,
      8,
      "A100-40GB",
      8,
    ]);
    assert.deepEqual(["model", "micro_batch_size", "bf16"].map(written), ["./model", "4", "True"]);
    assert.equal(edited({ name: "micro_batch_size", value: 2 }), SKY.replace("BATCH: 4", "BATCH: 2"));
    const checkpointing = edited({ name: "gradient_checkpointing", value: true });
    assert.equal(checkpointing, SKY.replace("checkpointing False", "checkpointing True"));
    const added = edited({ name: "optimizer", value: "adafactor" });
    assert.equal(readOf(added).value("optimizer"), "adafactor");
    assert.equal(readOf(added).value("micro_batch_size"), 4);
  });

  it("containers' words are a command, to which nothing is added", () => {
    const { value, written, edited } = readOf(POD);
    assert.deepEqual(
      ["model", "micro_batch_size", "fsdp_options", "world_size", "granted_devices", "device"].map(value),
      ["./model", 4, "full_shard auto_wrap", 32, 32, "NVIDIA-H100-80GB-HBM3"],
    );
    assert.equal(written("micro_batch_size"), "4");
    assert.equal(edited({ name: "micro_batch_size", value: 2 }), POD.replace('"4"', '"2"'));
    assert.equal(edited({ name: "optimizer", value: "adafactor" }), "refused.no-such-key");
  });

  it("torchrun with processes alone runs on the nodes that the operator tells it of", () => {
    const { value } = readOf(POD.replace("torchrun, train.py", "torchrun, --nproc_per_node=8, train.py"));
    assert.equal(value("world_size"), 32);
  });

  it("a config that a job starts has its GPUs", async () => {
    const files = { "train-job.yaml": STARTING, "qlora.yml": QLORA, "model/config.json": JSON.stringify(TINY_LLAMA) };
    const { report: started } = await createAnalyzer(memoryRuntime(files)).analyse(uri("qlora.yml"), {});
    const { devices } = started.runs[0] ?? assert.fail();
    assert.deepEqual([devices.name, devices.count, devices.source], ["NVIDIA A10G", 2, "config"]);
    const { report } = await createAnalyzer(memoryRuntime(files)).analyse(uri("train-job.yaml"), {});
    assert.ok(report.runs.some(({ documents }) => documents.some((one) => one.endsWith("/qlora.yml"))));
  });

  it("other YAML of Kubernetes and of workflows is none", () => {
    const service = "apiVersion: v1\nkind: Service\nspec: {ports: [{port: 80}]}\n";
    assert.equal(recogniseFormat(parseDocument(uri("s.yaml"), service)!), undefined);
    const workflow = "name: ci\non: push\njobs: {a: {steps: [{run: torchrun train.py --output_dir o}]}}\n";
    assert.equal(recogniseFormat(parseDocument(uri("w.yaml"), workflow)!), undefined);
  });
});
