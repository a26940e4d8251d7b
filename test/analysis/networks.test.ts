/**
 * Networks that scripts take from torchvision and timm by name, in a plain loop: each script was run on fake CUDA tensors whose
 * storages were followed (`capture/truth/network_receipts.py`). Peaks are equal to the byte.
 */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { recogniseFormat } from "../../src/formats";
import { parseDocument } from "../../src/formats/parse";
import type { ConfigDocument } from "../../src/formats/types";
import { rowsOf } from "../rows";
import { memoryRuntime, uri } from "./memory-runtime";

interface Row {
  readonly id: string;
  readonly script: string;
  /** `torch.cuda.max_memory_allocated` in bytes. */
  readonly allocated: number;
}

const ROWS = rowsOf<Row>(__dirname, "networks.jsonl");

async function runOf(script: string, name = "train.py") {
  const analyzer = createAnalyzer(memoryRuntime({ [name]: script }));
  const [run] = (await analyzer.analyse(uri(name), {})).runs;
  assert.ok(run);
  return run;
}

const LOOP = `
transform = transforms.Compose([transforms.Resize((128, 128)), transforms.ToTensor()])
loader = DataLoader(data, batch_size=8)
model = model.to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for images, labels in loader:
    optimizer.zero_grad()
    outputs = model(images.to("cuda"))
    loss = torch.nn.functional.cross_entropy(outputs, labels.to("cuda"))
    loss.backward()
    optimizer.step()
`;

describe("analysis: networks built by name", () => {
  for (const { id, script, allocated } of ROWS)
    it(id, async () => assert.equal((await runOf(script)).perDevice?.allocatedPeakBytes, allocated));

  it("assumes no dtype of weights: the constructors make float32", async () => {
    for (const { script } of ROWS) {
      const { assumptions } = await runOf(script);
      assert.ok(!assumptions.some(({ settleWith }) => settleWith === "dtype"), JSON.stringify(assumptions));
    }
  });

  for (const [how, head, name, labels] of [
    [
      "by its module",
      "import torchvision\nmodel = torchvision.models.resnet18(num_classes=7)",
      "torchvision/resnet18",
      7,
    ],
    ["by a short name", "from torchvision import models\nmodel = models.vgg16()", "torchvision/vgg16", undefined],
    ["as a function", "from torchvision.models import resnet18\nmodel = resnet18()", "torchvision/resnet18", undefined],
    ["by text", 'import torchvision\nmodel = torchvision.models.get_model("vgg16")', "torchvision/vgg16", undefined],
    ["by a name of its own", "import torchvision.models as tv\nmodel = tv.vgg16()", "torchvision/vgg16", undefined],
    [
      "by an option's value",
      `import argparse, torchvision.models as models
p = argparse.ArgumentParser()
p.add_argument("--arch", default="resnet18", choices=sorted(models.__dict__.keys()))
args = p.parse_args()
model = models.__dict__[args.arch]()`,
      "torchvision/resnet18",
      undefined,
    ],
    [
      "as a function by another name",
      "from timm import create_model as make\nmodel = make('resnet18')",
      "timm/resnet18",
      undefined,
    ],
    [
      "of timm with its weights",
      'import timm\nmodel = timm.create_model("resnet18.a1_in1k", num_classes=9)',
      "timm/resnet18",
      9,
    ],
    [
      "with another head",
      "from torchvision import models\nmodel = models.resnet18()\nmodel.fc = torch.nn.Linear(model.fc.in_features, 5)",
      "torchvision/resnet18",
      5,
    ],
  ] as const) {
    it(`knows a network ${how}`, async () => {
      const run = await runOf(`import torch\n${head}\n${LOOP}`);
      assert.equal(run.model?.name, name);
      assert.ok(run.perDevice, JSON.stringify(run.findings));
      const classifier = labels ?? 1000;
      const whole = await runOf(
        `import torch\nimport ${name.split("/")[0]}\n${LOOP}`.replace("\n\n", `\nmodel = ${call(name, classifier)}\n`),
      );
      assert.equal(run.model?.parameters, whole.model?.parameters);
    });
  }

  it("has no number for a network nobody captured", async () => {
    const run = await runOf(`import torch, torchvision\nmodel = torchvision.models.googlenet()\n${LOOP}`);
    assert.equal(run.perDevice, null);
    assert.ok(run.findings.some(({ code }) => code === "unknown-model"));
  });

  it("tells timm's script with few options from torchvision's of the same name", () => {
    const formatOf = (command: string) =>
      recogniseFormat(parseDocument("file:///w/run.sh", `${command}\n`) as ConfigDocument)?.format.id;
    assert.equal(formatOf("python train.py /data --model resnet50 --sched cosine -b 64"), "timm");
    assert.equal(formatOf("./distributed_train.sh 4 --data-dir /d --model efficientnet_b0 -b 128 --amp"), "timm");
    const torchvision = "torchrun --nproc_per_node=8 train.py --model resnet50 --batch-size 128 --opt sgd --amp";
    const more = "--model-ema --auto-augment ta_wide --lr-scheduler cosineannealinglr --mixup-alpha 0.2";
    assert.notEqual(formatOf(`${torchvision} ${more}`), "timm");
    assert.notEqual(formatOf("python train.py --model gpt2 --batch_size 4 --epochs 1"), "timm");
  });

  it("says no length in tokens of a network that is unknown", async () => {
    const script =
      'import timm\nmodel = timm.create_model("nobodys_net")\nloader = DataLoader(ds, batch_size=2)\nloss(model(x)).backward()\n';
    const analysis = await createAnalyzer(memoryRuntime({ "t.py": script })).analyse(uri("t.py"), {});
    const [run] = analysis.runs;
    assert.equal(run?.settings.find(({ name }) => name === "micro_batch_size")?.value, 2);
    assert.equal(
      run?.settings.find(({ name }) => name === "sequence_length"),
      undefined,
    );
  });

  it("takes timm's networks for its own run files", async () => {
    const args =
      "aa: rand\nopt: sgd\nsched: cosine\ndrop_path: null\nmodel: resnet18.a1_in1k\nbatch_size: 16\namp: true\n";
    const run = await runOf(args, "args.yaml");
    assert.equal(run.model?.family, "timm.resnet");
    const states = ({ perDevice }: typeof run) =>
      perDevice?.components.find(({ kind }) => kind === "optimizer")?.bytes ?? 0;
    // Its SGD has a momentum unless told otherwise.
    assert.ok(states(run) > 4 * 11e6);
    assert.equal(states(await runOf(`${args}momentum: 0.0\n`, "args.yaml")), 0);
  });
});

function call(name: string, labels: number): string {
  const [library = "", network = ""] = name.split("/");
  return library === "timm"
    ? `timm.create_model("${network}", num_classes=${labels})`
    : `torchvision.models.${network}(num_classes=${labels})`;
}
