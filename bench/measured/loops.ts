/**
 * Plain loops of PyTorch that xMem's authors measured, as the scripts that a person would have: the model by name, its
 * optimizer, and where gradients are cleared. How the loops were written is in the table's own description.
 */

/** A line of the table. Sizes in bytes. */
export interface LoopRow {
  readonly model: string;
  readonly family: "cnn" | "transformer";
  readonly optimizer: string;
  readonly batch: number;
  readonly gpu: string;
  /** NVML's peak over what it showed before the model came: no context in it. */
  readonly ground_bytes: number;
  readonly real_oom: boolean;
  readonly total_gpu_memory: number;
  /** Gradients are cleared at the step's start (0), before backward (1) or at its end (2); null: the older code's default. */
  readonly zero_grad_mode: 0 | 1 | 2 | null;
  /** 1: torch 2.3 with no cuBLAS workspace; 2: torch 2.6; 3: the same code where torch's release is not known. */
  readonly generation: 1 | 2 | 3;
}

/** How a model is built: the name in torchvision or on the Hub, and what the loop changes of it. */
interface Builder {
  readonly name: string;
  /** Classes of the table's own heads; torchvision's default where absent. */
  readonly classes?: number;
}

const BUILDERS: Readonly<Record<string, Builder>> = {
  ConvNeXtTiny: { name: "convnext_tiny" },
  ConvNeXtBase: { name: "convnext_base" },
  MnasNet: { name: "mnasnet1_0", classes: 10 },
  MobileNetV2: { name: "mobilenet_v2" },
  MobeNetV3Small: { name: "mobilenet_v3_small", classes: 10 },
  MobeNetV3Large: { name: "mobilenet_v3_large", classes: 10 },
  RegNetX400MF: { name: "regnet_x_400mf" },
  RegNetY400MF: { name: "regnet_y_400mf" },
  RegNetX32GF: { name: "regnet_x_32gf" },
  RegNetY32GF: { name: "regnet_y_32gf" },
  ResNet50: { name: "resnet50" },
  ResNet101: { name: "resnet101" },
  ResNet152: { name: "resnet152" },
  VGG11: { name: "vgg11" },
  VGG16: { name: "vgg16" },
  VGG19: { name: "vgg19" },
  "T5-small": { name: "google-t5/t5-small" },
  "T5-base": { name: "google-t5/t5-base" },
};

const PINS: Readonly<Record<LoopRow["generation"], string>> = {
  1: "torch==2.3.1\ntransformers==4.39.3\n",
  2: "torch==2.6.0\ntransformers==4.51.3\n",
  3: "torch==2.6.0\ntransformers==4.51.3\n",
};

/** Optimizers that the loop takes from torch; it has Adafactor from transformers (`relative_step` is an argument of that one). */
function optimizerOf(name: string): string {
  return name === "Adafactor"
    ? "Adafactor(model.parameters(), lr=0.001, relative_step=False)"
    : `torch.optim.${name}(model.parameters(), lr=0.001)`;
}

/** Lines of one step; the outputs keep their name until the next forward returns. */
function stepOf(forward: readonly string[], mode: LoopRow["zero_grad_mode"]): readonly string[] {
  const zero = "optimizer.zero_grad()";
  const [before, late, after] = [mode === 0, mode === 1 || mode === null, mode === 2];
  const lines = [
    ...(before ? [zero] : []),
    ...forward,
    ...(late ? [zero] : []),
    "loss.backward()",
    "optimizer.step()",
    ...(after ? [zero] : []),
  ];
  return lines.map((line) => `    ${line}`);
}

function pictures(row: LoopRow, { name, classes }: Builder): readonly string[] {
  const heads = classes === undefined ? "weights=None" : `weights=None, num_classes=${classes}`;
  return [
    "import torch",
    "import torchvision",
    "from torch.utils.data import DataLoader",
    "from torchvision import transforms",
    "",
    "transform = transforms.Compose([transforms.Resize((86, 86)), transforms.ToTensor()])",
    'data = torchvision.datasets.CIFAR10("data", transform=transform)',
    `loader = DataLoader(data, batch_size=${row.batch}, shuffle=True)`,
    `model = torchvision.models.${name}(${heads}).to("cuda")`,
    `optimizer = ${optimizerOf(row.optimizer)}`,
    "criterion = torch.nn.CrossEntropyLoss()",
    "for images, labels in loader:",
    ...stepOf(
      [
        'images, labels = images.to("cuda"), labels.to("cuda")',
        "outputs = model(images)",
        "loss = criterion(outputs, labels)",
      ],
      row.zero_grad_mode,
    ),
  ];
}

function texts(row: LoopRow, { name }: Builder): readonly string[] {
  const auto = name.includes("t5") ? "AutoModelForSeq2SeqLM" : "AutoModelForCausalLM";
  return [
    "import torch",
    "from datasets import load_dataset",
    "from torch.utils.data import DataLoader",
    `from transformers import Adafactor, AutoConfig, AutoTokenizer, DataCollatorForLanguageModeling, ${auto}`,
    "",
    `tokenizer = AutoTokenizer.from_pretrained("${name}")`,
    'data = load_dataset("wikitext", "wikitext-2-raw-v1", split="train")',
    'data = data.map(lambda x: tokenizer(x["text"], truncation=True, max_length=128), batched=True)',
    `loader = DataLoader(data, batch_size=${row.batch}, shuffle=True, collate_fn=DataCollatorForLanguageModeling(tokenizer, mlm=False))`,
    `model = ${auto}.from_config(AutoConfig.from_pretrained("${name}")).to("cuda")`,
    `optimizer = ${optimizerOf(row.optimizer)}`,
    "for batch in loader:",
    ...stepOf(['outputs = model(**batch.to("cuda"))', "loss = outputs.loss"], row.zero_grad_mode),
  ];
}

/** The run's files, the script first. */
export function documentsOf(row: LoopRow): Readonly<Record<string, string>> {
  const builder = BUILDERS[row.model] ?? { name: row.model };
  const lines = (row.family === "cnn" ? pictures : texts)(row, builder);
  const workspace = row.generation === 1 ? ["import os", 'os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":0:0"'] : [];
  return {
    "train.py": `${[...workspace, ...lines].join("\n")}\n`,
    "requirements.txt": PINS[row.generation],
    ".vramlens.yaml": `runs:\n  - device: ${row.gpu}\n`,
  };
}
