/** The side of the pictures that a script trains on. */
import { strict as assert } from "node:assert";
import { resolveFiles } from "./resolve-run";

async function side(body: string, model = "microsoft/resnet-50"): Promise<number | undefined> {
  const script = `from torchvision.transforms import CenterCrop, Compose, RandomResizedCrop, Resize
from transformers import AutoImageProcessor, AutoModelForImageClassification, Trainer, TrainingArguments
model = AutoModelForImageClassification.from_pretrained("${model}")
${body}
Trainer(model, TrainingArguments("out", per_device_train_batch_size=4)).train()
`;
  return (await resolveFiles({ "train.py": script }, "train.py")).run?.imageSize;
}

describe("analysis: the side of pictures", () => {
  it("is what transforms leave, else what the processor is told, else what it makes by itself", async () => {
    assert.equal(await side(""), 224);
    assert.equal(await side("t = Compose([Resize(256), CenterCrop((160, 160))])"), 160);
    assert.equal(await side("t = Compose([Resize((192, 192))])"), 192);
    assert.equal(await side("t = RandomResizedCrop(side_of(processor))"), 224);
    const told = 'p = AutoImageProcessor.from_pretrained("microsoft/resnet-50", size={"height": 320, "width": 320})';
    assert.equal(await side(told), 320);
    assert.equal(await side('import torchvision\ndata = torchvision.datasets.CIFAR10("data", train=True)'), 32);
    assert.equal(await side("from torchvision.datasets import FakeData\ndata = FakeData(8, (1, 96, 112))"), 112);
    // What brings them to another side does not say which.
    const set = "from torchvision.datasets import CIFAR10\ndata = CIFAR10('data', transform=t)";
    for (const other of [
      'p = AutoImageProcessor.from_pretrained("google/vit-base-patch16-224")',
      "t = weights.transforms()",
      "t = Resize(args.side)",
      "x = F.interpolate(x, size=224)",
    ])
      assert.notEqual(await side(`${other}\n${set}`), 32, other);
    // Its config reads up to 518 pixels.
    assert.equal(await side("", "facebook/dinov2-small"), 224);
  });
});

describe("analysis: the side of a model that reads more than its processor crops", () => {
  const sides = async (own: number, pinned?: number): Promise<readonly (number | unknown)[]> => {
    const files = {
      "train.yaml": "output_dir: out\nper_device_train_batch_size: 2\n",
      "model/config.json": JSON.stringify({ model_type: "dinov2", image_size: own }),
      ".vramlens.yaml": `runs:\n  - match: "*"\n    model: ./model\n    task: image-cls\n${pinned === undefined ? "" : `    image_size: ${pinned}\n`}`,
    };
    const { run } = await resolveFiles(files, "train.yaml");
    return [run?.imageSize, run?.model.config["image_size"]];
  };

  it("is cropped, unless it is stated or smaller", async () => {
    assert.deepEqual(await sides(518), [224, 224]);
    assert.deepEqual(await sides(518, 518), [518, 518]);
    assert.deepEqual(await sides(56), [56, 56]);
  });
});

describe("analysis: attention of earlier releases", () => {
  it("is eager where a family's code has nothing else", async () => {
    const attention = async (model: string, version: string): Promise<string | undefined> => {
      const script = `from transformers import AutoModelForSeq2SeqLM, Trainer, TrainingArguments
model = AutoModelForSeq2SeqLM.from_pretrained("${model}")
Trainer(model, TrainingArguments("out", per_device_train_batch_size=4)).train()
`;
      const files = { "train.py": script, "requirements.txt": `transformers==${version}\n` };
      return (await resolveFiles(files, "train.py")).run?.attention;
    };
    assert.equal(await attention("google-t5/t5-small", "5.14.0"), "eager");
    assert.equal(await attention("google-t5/t5-small", "5.15.0"), "sdpa");
    assert.equal(await attention("openai-community/gpt2", "4.41.0"), "eager");
  });
});
