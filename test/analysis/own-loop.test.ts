/** Training loops of one's own around models of transformers: what their calls say. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { type Resolution, resolveRun } from "../../src/analysis/resolve";
import type { TrainingRun } from "../../src/core/training/run";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";
import { gatherFiles } from "./resolve-run";

const BERT = { model_type: "bert", hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 2, vocab_size: 500 };

interface Script {
  readonly head?: string;
  readonly load?: string;
  readonly optimizer?: string;
  readonly step?: string;
  readonly config?: Readonly<Record<string, unknown>>;
}

async function resolutionOf(script: Script): Promise<Resolution> {
  const text = `import torch
from transformers import AutoModelForSequenceClassification, AutoModelForCausalLM
${script.head ?? ""}
model = ${script.load ?? 'AutoModelForSequenceClassification.from_pretrained("./model").cuda()'}
valid = torch.utils.data.DataLoader(held, batch_size=64)
train = torch.utils.data.DataLoader(data, batch_size=12, shuffle=True)
optimizer = ${script.optimizer ?? "torch.optim.AdamW(model.parameters(), lr=1e-4)"}
for batch in train:
${(script.step ?? "outputs = model(**batch)\noutputs.loss.backward()").replace(/^/gm, "    ")}
    optimizer.step()
    optimizer.zero_grad()
`;
  const files = { "train.py": text, "model/config.json": JSON.stringify(script.config ?? BERT) };
  return resolveRun(await gatherFiles(files, "train.py"), {});
}

async function runOf(script: Script = {}): Promise<TrainingRun> {
  const { run } = await resolutionOf(script);
  assert.ok(run);
  return run;
}

describe("analysis: a loop of one's own", () => {
  it("takes batch, optimizer and head from its calls, and clips nothing by itself", async () => {
    const run = await runOf();
    assert.deepEqual([run.microBatchSize, run.maxGradNorm, run.autocast, run.task], [12, 0, null, "seq-cls"]);
    assert.deepEqual(run.optimizer, { name: "adamw", args: {}, oneGroup: true });
  });

  it("has no adapter where it only writes a config of one", async () => {
    const head = "from peft import LoraConfig, get_peft_model\nconfig = LoraConfig(r=8, target_modules=['query'])";
    const load = 'AutoModelForSequenceClassification.from_pretrained("./model")';
    assert.equal((await runOf({ head, load })).adapter, null);
    assert.notEqual((await runOf({ head, load: `get_peft_model(${load}, config)` })).adapter, null);
  });

  it("knows optimizers by their class and what their step allocates by their arguments", async () => {
    const sgd = await runOf({ optimizer: "torch.optim.SGD(groups, lr=0.1, momentum=0.9, foreach=False)" });
    assert.deepEqual(sgd.optimizer, { name: "sgd", args: { foreach: "False", momentum: "0.9" } });
    assert.equal((await runOf({ optimizer: "bnb.optim.PagedAdamW8bit(x)" })).optimizer.name, "paged_adamw_8bit");
    assert.equal((await runOf({ optimizer: "make_optimizer(model)" })).optimizer.name, "adamw_torch");
  });

  it("has its weights in the dtype that it casts them to, whatever they were loaded as", async () => {
    const load = 'AutoModelForSequenceClassification.from_pretrained("./model", torch_dtype=torch.bfloat16).cuda()';
    for (const [cast, dtype] of [
      ["", "bfloat16"],
      ["\nmodel.float()", "float32"],
      ["\nmodel = model.float()", "float32"],
      ["\nmodel.to(torch.float16)", "float16"],
    ])
      assert.equal((await runOf({ load: `${load}${cast}` })).loadDtype, dtype, cast);
  });

  it("takes DeepSpeed's config from the dict that its engine is given", async () => {
    const { parallel } = await runOf({
      head: 'ds = {"train_micro_batch_size_per_gpu": 12, "bf16": {"enabled": True}, "zero_optimization": {"stage": 2}}',
      optimizer: "torch.optim.AdamW(model.parameters())\nengine, *_ = deepspeed.initialize(model=model, config=ds)",
      step: "outputs = engine(**batch)\nengine.backward(outputs.loss)",
    });
    assert.equal(parallel.deepspeed?.zeroStage, 2);
  });

  it("has no number where a script puts modules of its own into the layers, and names those it puts elsewhere", async () => {
    const load = (change: string) => ({
      load: `AutoModelForSequenceClassification.from_pretrained("./model").cuda()\n${change}`,
    });
    for (const change of [
      "for layer in model.bert.encoder.layer:\n    layer.attention.self.query = LoRALinear(layer.attention.self.query)",
      "model.bert.encoder.layer[0].output = Own(model.config)",
      "for name, module in model.named_modules():\n    setattr(model.get_submodule(name), 'x', Quantized(module))",
    ]) {
      const { run, obstacles } = await resolutionOf(load(change));
      assert.deepEqual([run, obstacles.map(({ code }) => code)], [null, ["not-modelled"]], change);
    }
    for (const change of [
      "model.classifier = Own(64, 2)",
      "model.config.hidden_act = get('x')",
      "for p in model.parameters(): p.data = p.data.clone()",
    ])
      assert.ok((await resolutionOf(load(change))).run, change);
  });

  it("names what libraries change of a model or a step and nothing follows", async () => {
    const { suppositions } = await resolutionOf({
      load: 'AutoModelForSequenceClassification.from_pretrained("./model").cuda()\nconvert_to_float8_training(model)',
      step: "with torch.autograd.graph.save_on_cpu():\n    loss = model(**batch).loss\nloss.backward()",
    });
    const said = suppositions.find(({ message }) => message.id === "assume.uncounted")?.message.args?.["keys"];
    assert.equal(said, "convert_to_float8_training, torch.autograd.graph.save_on_cpu");
  });

  it("counts compiled code as uncompiled, and says so", async () => {
    for (const compiles of ["model = torch.compile(model)", "model.compile()"]) {
      const load = `AutoModelForSequenceClassification.from_pretrained("./model").cuda()\n${compiles}`;
      const { run, suppositions } = await resolutionOf({ load });
      assert.equal(run?.compiled, "model", compiles);
      const said = suppositions.map(({ message }) => message.id).filter((id) => id.startsWith("assume.compile"));
      assert.deepEqual(said, ["assume.compile-eager"]);
    }
  });

  it("is the Trainer's switch where the Trainer is given a compiled model", async () => {
    const text = (compiled: string) => `import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("./model")
other = AutoModelForCausalLM.from_pretrained("gpt2")
${compiled}
args = TrainingArguments("out", per_device_train_batch_size=2)
Trainer(model=model, args=args, train_dataset=data).train()
`;
    for (const [compiled, expected] of [
      ["", undefined],
      ["model = torch.compile(model)", "model"],
      ["model.compile()", "model"],
      ["other = torch.compile(other)", undefined],
    ] as const) {
      const files = { "train.py": text(compiled), "model/config.json": JSON.stringify(TINY_LLAMA) };
      const { run } = resolveRun(await gatherFiles(files, "train.py"), {});
      assert.equal(run?.compiled, expected, compiled);
    }
  });

  it("computes in the dtype of its autocast, float16 where none is named", async () => {
    const step = (words: string) => `with ${words}:\n    loss = model(**batch).loss\nscaler.scale(loss).backward()`;
    const autocast = async (words: string) => (await runOf({ step: step(words) })).autocast;
    assert.equal(await autocast('torch.autocast("cuda", dtype=torch.bfloat16)'), "bfloat16");
    assert.equal(await autocast("torch.amp.autocast('cuda', torch.bfloat16)"), "bfloat16");
    assert.equal(await autocast("torch.cuda.amp.autocast()"), "float16");
    assert.equal(await autocast("autocast(enabled=False)"), null);
    const pure = await runOf({
      head: "model.to('cuda', dtype=torch.bfloat16)",
      step: step('torch.autocast("cuda", torch.bfloat16)'),
    });
    assert.deepEqual([pure.loadDtype, pure.autocast], ["bfloat16", "bfloat16"]);
  });

  it("keeps what its names refer to: the outputs, or the loss alone", async () => {
    const trains = { head: "model.train()" };
    assert.deepEqual((await runOf(trains)).loop, { holds: "outputs", keepsDtype: true, variesLengths: true });
    const loss = await runOf({ step: "loss = model(**batch).loss\nloss.backward()" });
    assert.equal(loss.loop?.holds, "loss");
    const prepared = await runOf({ ...trains, step: "out = model(**batch)\naccelerator.backward(out.loss)" });
    assert.deepEqual(prepared.loop, { holds: "outputs", variesLengths: true });
  });

  it("is in evaluation where nothing calls train, and accumulates what its step waits for", async () => {
    assert.equal((await runOf()).loop?.evaluates, true);
    const steps = async (every: string, head = "") => {
      const step = `model(**batch).loss.backward()\nif (i + 1) % ${every} == 0:\n    optimizer.step()\ncontinue`;
      return (await runOf({ head, step })).gradientAccumulationSteps;
    };
    assert.equal(await steps("4"), 4);
    assert.equal(await steps("accum_iter", "accum_iter = 8"), 8);
  });

  it("keeps old gradients through the forward where they are let go behind it", async () => {
    const late = await runOf({ step: "loss = model(**batch).loss\noptimizer.zero_grad()\nloss.backward()" });
    assert.equal(late.loop?.zerosLate, true);
    const early = await runOf({ step: "optimizer.zero_grad()\nloss = model(**batch).loss\nloss.backward()" });
    assert.equal(early.loop?.zerosLate, undefined);
  });

  it("keeps a cache in models that write, unless something switches it off", async () => {
    const load = 'AutoModelForCausalLM.from_pretrained("./model")';
    const writes = async (script: Script, config = TINY_LLAMA) =>
      (await runOf({ load, config, ...script })).keepsCache === "copies";
    assert.equal(await writes({}), true);
    assert.equal(await writes({ head: "model.config.use_cache = False" }), false);
    assert.equal(await writes({ head: "model.gradient_checkpointing_enable()" }), false);
    assert.equal(await writes({ load: load.replace(")", ", use_cache=False)") }), false);
    assert.equal(
      await writes({ load: 'BartForConditionalGeneration.from_pretrained("./model")' }, {
        ...BERT,
        model_type: "bart",
      } as never),
      false,
    );
  });

  it("keeps a cache while a Trainer before 5.0 evaluates, though checkpointing switches it off in training", async () => {
    const text = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("./model")
args = TrainingArguments(output_dir="out", per_device_train_batch_size=2, gradient_checkpointing=True)
trainer = Trainer(model=model, args=args, train_dataset=data)
trainer.train()
`;
    const files = { "train.py": text, "model/config.json": JSON.stringify(TINY_LLAMA) };
    const kept = async (transformers: string) => {
      const inputs = await gatherFiles({ ...files, "requirements.txt": `transformers==${transformers}\n` }, "train.py");
      const { run } = resolveRun(inputs, {});
      return [run?.keepsCache, run?.evaluationKeepsCache];
    };
    assert.deepEqual(await kept("4.48.3"), [undefined, "as-made"]);
    assert.deepEqual(await kept("5.0.0"), [undefined, undefined]);
  });

  it("keeps a cache as attention was given it where an earlier library is pinned, which copied nothing before 4.56", async () => {
    const text = `from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("./model")
loader = torch.utils.data.DataLoader(data, batch_size=2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in loader:
    outputs = model(**batch)
    outputs.loss.backward()
    optimizer.step()
`;
    const files = { "train.py": text, "model/config.json": JSON.stringify(TINY_LLAMA) };
    const kept = async (transformers: string) => {
      const inputs = await gatherFiles({ ...files, "requirements.txt": `transformers==${transformers}\n` }, "train.py");
      return resolveRun(inputs, {}).run?.keepsCache;
    };
    assert.deepEqual([await kept("4.51.3"), await kept("4.56.0")], ["as-made", "copies"]);
  });

  it("clips, accumulates and compiles where it says so", async () => {
    const run = await runOf({
      head: "accumulation_steps = 4\nmodel = torch.compile(model)",
      step: "loss = model(**batch).loss / accumulation_steps\nloss.backward()\ntorch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)",
    });
    assert.deepEqual([run.maxGradNorm, run.gradientAccumulationSteps, run.compiled], [0.5, 4, "model"]);
  });

  it("without a known batch gives the reason instead of a guess", async () => {
    const { run, obstacles } = await resolutionOf({ head: "DataLoader = None" });
    assert.ok(run);
    assert.deepEqual(obstacles, []);
    const files = {
      "train.py": `from transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained("./model")\nfor b in stream:\n    model(**b).loss.backward()\n`,
      "model/config.json": JSON.stringify(TINY_LLAMA),
    };
    const unknown = resolveRun(await gatherFiles(files, "train.py"), {});
    assert.equal(unknown.run, null);
    assert.match(JSON.stringify(unknown.obstacles), /obstacle\.no-batch/);
  });
});

describe("analysis: a model that is loaded with other sizes", () => {
  it("has what the load sets in its config", async () => {
    const load = (more: string) => `AutoModelForSequenceClassification.from_pretrained("./model"${more}).cuda()`;
    const runWith = (more: string) => runOf({ load: load(more) });
    const [small, whole] = [
      await runWith(", num_hidden_layers=1, hidden_dropout_prob=0.0, num_labels=3"),
      await runWith(""),
    ];
    assert.deepEqual([whole.model.config["num_hidden_layers"], small.model.config["num_hidden_layers"]], [2, 1]);
    assert.equal(small.model.config["hidden_dropout_prob"], 0);
    assert.equal((await runWith(", config=other, num_hidden_layers=1")).model.config["num_hidden_layers"], 2);
  });
});

describe("analysis: Lightning in Python", () => {
  const script = (trainer: string, body = ""): string => `import lightning as L
import torch
from transformers import AutoModelForSequenceClassification
class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = AutoModelForSequenceClassification.from_pretrained("./model")
    def training_step(self, batch, index):
        outputs = self.model(**batch)
        return outputs.loss
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
${body}
trainer = L.Trainer(${trainer})
trainer.fit(Module(), torch.utils.data.DataLoader(data, batch_size=6))
`;

  async function fitted(trainer: string, body = "", beside: Record<string, string> = {}): Promise<TrainingRun> {
    const files = { "train.py": script(trainer, body), "model/config.json": JSON.stringify(BERT), ...beside };
    const inputs = await gatherFiles(files, "train.py");
    assert.equal(inputs.format.id, "lightning");
    const { run } = resolveRun(inputs, {});
    assert.ok(run);
    return run;
  }

  it("takes precision, accumulation and clipping from the Trainer, the rest from the module", async () => {
    const run = await fitted('precision="bf16-mixed", accumulate_grad_batches=3, gradient_clip_val=1.0');
    assert.deepEqual(
      [run.autocast, run.loadDtype, run.gradientAccumulationSteps, run.maxGradNorm, run.microBatchSize],
      ["bfloat16", "float32", 3, 1, 6],
    );
    assert.deepEqual([run.task, run.optimizer.name, run.standsFor], ["seq-cls", "sgd", undefined]);
    assert.equal((await fitted('precision="bf16-true"')).loadDtype, "bfloat16");
  });

  it("clears the gradients of the step before after the forward, and names nothing of it", async () => {
    const loop = { holds: "nothing", zerosLate: true, keepsDtype: true };
    const body = "    def on_train_start(self):\n        self.model.train()";
    assert.deepEqual((await fitted("max_epochs=1", body)).loop, loop);
  });

  it("leaves a loaded model in evaluation since 2.2", async () => {
    const evaluates = async (requirements: string, body = ""): Promise<boolean | undefined> =>
      (await fitted("max_epochs=1", body, { "requirements.txt": requirements })).loop?.evaluates;
    // Lightning 2.6.6 on fake CUDA tensors: BERT from `from_pretrained` trains without dropout; fit_loop.py of 2.1 calls `train`
    assert.equal(await evaluates("lightning==2.6.6\n"), true);
    assert.equal(await evaluates("torch\npytorch-lightning==2.1.4\n"), undefined);
    assert.equal(await evaluates("pytorch-lightning<2.2\n"), undefined);
  });

  it("shards by its strategy over its devices", async () => {
    const run = await fitted('devices=4, strategy="fsdp"');
    assert.deepEqual([run.parallel.worldSize, run.parallel.fsdp?.sharding], [4, "full_shard"]);
    // lightning/pytorch/strategies/fsdp.py: without a policy the whole module is one unit
    assert.equal(run.parallel.fsdp?.unsplit, true);
    assert.equal((await fitted('devices=4, strategy="fsdp_cpu_offload"')).parallel.fsdp?.cpuOffload, true);
  });
});

/** The run of a script whose Trainer has a strategy, or of a config of LightningCLI with one. */
async function withStrategy(trainer: string, head = ""): Promise<Resolution> {
  const text = `import lightning as L
import torch
from torch.distributed.fsdp import CPUOffload, MixedPrecision, ShardingStrategy
from lightning.pytorch.strategies import DDPStrategy, DeepSpeedStrategy, FSDPStrategy, ModelParallelStrategy
from transformers import AutoModelForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer
class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = AutoModelForCausalLM.from_pretrained("./model")
    def training_step(self, batch, index):
        return self.model(**batch).loss
    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=0.1)
${head}
trainer = L.Trainer(devices=4, ${trainer})
trainer.fit(Module(), torch.utils.data.DataLoader(data, batch_size=6))
`;
  const files = { "train.py": text, "model/config.json": JSON.stringify(TINY_LLAMA) };
  return resolveRun(await gatherFiles(files, "train.py"), {});
}

describe("analysis: Lightning's strategies", () => {
  const parallel = async (trainer: string, head?: string) => {
    const { run } = await withStrategy(trainer, head);
    assert.ok(run, trainer);
    return run.parallel;
  };

  it("reads FSDPStrategy where the Trainer is given it, or a name for it", async () => {
    const made = `FSDPStrategy(sharding_strategy="SHARD_GRAD_OP", cpu_offload=True, auto_wrap_policy={LlamaDecoderLayer})`;
    const [here, named] = [await parallel(`strategy=${made}`), await parallel("strategy=chosen", `chosen = ${made}`)];
    assert.deepEqual(named, here);
    const { sharding, cpuOffload, version, unsplit } = here.fsdp ?? {};
    assert.deepEqual(
      [here.worldSize, sharding, cpuOffload, version, unsplit],
      [4, "shard_grad_op", true, 1, undefined],
    );
    assert.equal((await parallel("strategy=FSDPStrategy()")).fsdp?.unsplit, true);
    assert.equal((await parallel("strategy=FSDPStrategy(sharding_strategy=pick())")).fsdp?.sharding, "full_shard");
  });

  it("reads PyTorch's own objects, and policies in every form", async () => {
    const policy = "functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={LlamaDecoderLayer})";
    const { run } = await withStrategy(
      `strategy=FSDPStrategy(sharding_strategy=ShardingStrategy.SHARD_GRAD_OP, auto_wrap_policy=policy,
        cpu_offload=CPUOffload(offload_params=True), mixed_precision=MixedPrecision(reduce_dtype=torch.float32),
        activation_checkpointing_policy={LlamaDecoderLayer})`,
      `policy = ${policy}`,
    );
    const { sharding, cpuOffload, reduceDtype, unsplit } = run?.parallel.fsdp ?? {};
    assert.deepEqual([sharding, cpuOffload, reduceDtype, unsplit], ["shard_grad_op", true, "float32", undefined]);
    assert.deepEqual([run?.checkpointing?.useReentrant], [false]);
    const wrapped = await parallel(
      "strategy=FSDPStrategy()",
      "from torch.distributed.fsdp.wrap import wrap\nlayer = wrap(layer)",
    );
    assert.equal(wrapped.fsdp?.unsplit, undefined, "configure_model wraps modules by itself");
  });

  it("gives DeepSpeed the config that Lightning makes", async () => {
    const { deepspeed } = await parallel(
      "strategy=DeepSpeedStrategy(stage=3, offload_optimizer=True, reduce_bucket_size=1000)",
    );
    assert.deepEqual(
      [deepspeed?.zeroStage, deepspeed?.offloadOptimizer, deepspeed?.offloadParam, deepspeed?.reduceBucketSize],
      [3, "cpu", "none", 1000],
    );
    const { deepspeed: plain } = await parallel("strategy=DeepSpeedStrategy()");
    assert.deepEqual(
      [plain?.zeroStage, plain?.overlapComm, plain?.reduceBucketSize, plain?.allgatherBucketSize],
      [2, true, 200_000_000, 200_000_000],
    );
    const own =
      'strategy=DeepSpeedStrategy(stage=2, config={"zero_optimization": {"stage": 3, "reduce_bucket_size": 7}})';
    const { deepspeed: inline } = await parallel(own);
    assert.deepEqual([inline?.zeroStage, inline?.reduceBucketSize], [3, 7]);
    const { deepspeed: named } = await parallel('strategy="deepspeed_stage_3_offload"');
    assert.deepEqual([named?.offloadOptimizer, named?.offloadParam], ["cpu", "cpu"]);
  });

  it("reads the mesh of ModelParallelStrategy and says that the module decides what is split over it", async () => {
    const made = await withStrategy("strategy=ModelParallelStrategy(data_parallel_size=2, tensor_parallel_size=2)");
    const { tensorParallel, fsdp } = made.run?.parallel ?? {};
    assert.deepEqual([tensorParallel, fsdp?.version, fsdp?.unsplit], [2, 2, undefined]);
    assert.equal((await parallel("strategy=ModelParallelStrategy(2, 2)")).tensorParallel, 2);
    const machine = await parallel("strategy=ModelParallelStrategy()");
    assert.deepEqual([machine.tensorParallel, machine.fsdp], [4, null]);
    const said = made.suppositions.map((one) => JSON.stringify(one));
    assert.ok(
      said.some((one) => /strategy/.test(one)),
      said.join(),
    );
  });

  it("tells DDP what DDPStrategy does", async () => {
    assert.equal((await parallel("strategy=DDPStrategy()")).ddp, undefined);
    const made = "DDPStrategy(find_unused_parameters=True, gradient_as_bucket_view=True, static_graph=True)";
    const all = { findsUnused: true, staticGraph: true, bucketViews: true };
    assert.deepEqual((await parallel(`strategy=${made}`)).ddp, all);
    assert.deepEqual((await parallel('strategy="ddp_find_unused_parameters_true"')).ddp, { findsUnused: true });
  });
});

describe("analysis: Lightning around a network", () => {
  const script = (network: string, trainer: string): string => `import lightning as L
import torch, torchvision
from torch.utils.data import DataLoader
from mine.networks import Net
class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = ${network}
    def training_step(self, batch, index):
        x, y = batch
        return torch.nn.functional.cross_entropy(self.net(x), y)
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)
transform = torchvision.transforms.Compose([torchvision.transforms.Resize(224), torchvision.transforms.ToTensor()])
trainer = L.Trainer(${trainer})
trainer.fit(Module(), DataLoader(data, batch_size=64))
`;

  async function runOf(network: string, trainer = "max_steps=2") {
    const [run] = (
      await createAnalyzer(memoryRuntime({ "train.py": script(network, trainer) })).analyse(uri("train.py"), {})
    ).runs;
    assert.ok(run);
    return run;
  }

  it("takes what Lightning 2.6.6 took on fake CUDA tensors", async () => {
    const run = await runOf("torchvision.models.resnet18(num_classes=10)");
    assert.deepEqual([run.formats[0], run.model?.name], ["lightning", "torchvision/resnet18"]);
    assert.equal(run.perDevice?.allocatedPeakBytes, 1_553_798_144);
  });

  it("names the module to trace where the network is somebody's own", async () => {
    const run = await runOf("Net(3)");
    assert.equal(run.perDevice, null);
    assert.match(run.findings.map(({ message }) => message).join(), /called `Module`: trace it once/);
  });
});

describe("analysis: a run that says nothing of its batch", () => {
  const loop = (stream: string): string =>
    `from torch.utils.data import DataLoader\nfrom transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained("./model")\nfor b in ${stream}:\n    model(**b).loss.backward()\n`;
  const saidOf = async (stream: string, main: string): Promise<string> => {
    const files = {
      "train.py": loop(stream),
      "run.sh": "python train.py\n",
      "model/config.json": JSON.stringify(TINY_LLAMA),
    };
    const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri(main), {})).runs;
    return run?.findings.map(({ message }) => message).join() ?? "";
  };

  it("is told what is missing, at its first setting", async () => {
    assert.match(await saidOf("stream", "train.py"), /nothing says the batch size/);
  });

  it("is told so where a command starts it, too: its data set makes batches itself", async () => {
    const stream = "DataLoader(stream, batch_size=None)";
    assert.match(await saidOf(stream, "run.sh"), /nothing says the batch size/);
    assert.equal(await saidOf(stream, "train.py"), "`loader.batch_size` has no value.");
  });
});

describe("analysis: plans for a loop of one's own", () => {
  it("make the batch smaller where the loop has no place to accumulate", async () => {
    const text = `import torch
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("gpt2", use_cache=False).cuda()
optimizer = torch.optim.AdamW(model.parameters())
loader = torch.utils.data.DataLoader(data, batch_size=16)
for texts in loader:
    batch = tokenizer(texts, max_length=512, padding="max_length")
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
`;
    const runtime = memoryRuntime({ "train.py": text });
    const [run] = (await createAnalyzer(runtime).analyse(uri("train.py"), { device: "12GiB", plans: true })).runs;
    assert.equal(run?.verdict, "does-not-fit");
    const smaller = run?.plans.find(({ levers }) => levers.join() === "micro-batch");
    assert.deepEqual(
      smaller?.edits.map(({ newText }) => Number(newText) < 16),
      [true],
    );
  });

  it("is recognised around a class of transformers that is made from a config, and cast where it is made", async () => {
    const text = `import torch
from transformers import GPT2Config, GPT2LMHeadModel
model = GPT2LMHeadModel(GPT2Config(vocab_size=500, n_embd=64, n_layer=2, n_head=2)).to("cuda", dtype=torch.bfloat16)
train = torch.utils.data.DataLoader(data, batch_size=12)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in train:
    model(**batch).loss.backward()
    optimizer.step()
`;
    const { run } = resolveRun(await gatherFiles({ "train.py": text }, "train.py"), {});
    assert.deepEqual([run?.model.config["n_layer"], run?.loadDtype, run?.microBatchSize], [2, "bfloat16", 12]);
  });

  it("is recognised around a model made from a published config, whose call stands inside the load", async () => {
    const run = await runOf({
      head: "from transformers import AutoConfig",
      load: 'AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("./model"))',
      config: TINY_LLAMA,
    });
    assert.deepEqual([run.model.family, run.task, run.microBatchSize], ["llama", "causal-lm", 12]);
  });
});
