/** What the engine supposes, and why it cannot follow a run. Reasons go on after a colon, so they begin small. */
export const ENGINE = {
  // Assumptions
  "engine.relative": "{family} was not captured: {relative} with its dimensions stands in",
  "engine.deep":
    "{layers} layers: those beyond {most} counted as copies of the ones before, the pool's gaps by how they grew",
  "engine.branch": "{family} was captured where {conditions}: that code stands in",
  "engine.traced-elsewhere":
    "{name} was traced for {conditions}, this run has {sizes}: trace it for that, `vram-lens trace … --inputs '… {sizes}'`",
  "engine.adapted-experts": "plain LoRA on fused experts: peft refuses dropout, DoRA and biases there",
  "engine.mixed-dtypes":
    "PyTorch refuses products of two dtypes, which these weights come to: load in float32 or use autocast",
  "engine.transformer-engine": "8-bit copies of Transformer Engine's delayed scaling; other recipes keep more or fewer",
  "engine.cudnn": "no cuDNN workspaces: its kernels may rearrange what convolutions read and write",
  "engine.spread-late":
    "the model lies whole on the card before it is spread; pieces of its pool may be of no use later",
  "engine.batch-before": "the batch before the longest one is as long: the loop still names its outputs",
  "engine.cusolver": "no copy and workspace of cuSOLVER while weights are decomposed for the adapter",
  "engine.raised-head": "head and last states as loaded: `cast_lm_head_to_fp32` raises them to float32",
  "engine.scatter": "gradient of picked elements written out of place at the peak; a card may write in place",
  "engine.missing-kernels": "without the kernels of {packages}; with them {module} holds less",
  "engine.tensor-parallel": "tensor parallel degree {degree}: gathered inputs and sums over the ranks are in the band",
  "engine.tensor-sequences":
    "tensor parallel degree {degree}: the sequence gathered and scattered around its products, the loss over parts of logits",
  "engine.placed-layers": "`device_map`: layers divided evenly over {degree} GPUs, which work one after the other",
  "engine.pipeline-parallel": "pipeline parallel degree {degree}: {schedule} schedule, layers divided evenly",
  "engine.context-parallel":
    "context parallel degree {degree}: each rank has its share of tokens; keys and values of others come on top",
  "engine.expert-parallel":
    "expert parallel degree {degree}: tokens spread evenly; those sent and received come on top",
  "engine.token-dispatcher":
    "experts' tokens counted as `alltoall` sends them, not as `{dispatcher}`: `allgather` holds those of {ranks} GPUs at once",
  "engine.reentrant-replicas":
    "reentrant checkpointing under `DataParallel`: each layer sums gradients of the whole model, which is not counted",
  "engine.combined-experts":
    "experts with pipeline stages or split sequences: counted as each runs alone; no reference run has them together",
  "engine.exchanged-rows":
    "expert parallel degree {degree}: rows spread evenly over the GPUs; one whose experts are chosen more often gets more",

  // What graphs take the data to be
  "graph.one-end": "each text has one end-of-sequence token, whose states are classified",
  "graph.no-cache": "no key-value cache: the text side's own `use_cache` is false, which the Trainer leaves",
  "graph.first-word": "global attention on the first token only, as the library's classifier sets it",
  "graph.first-of-choice":
    "global attention on the first token only, where the library's class gives it to every token of the choice",
  "graph.no-word": "no token with global attention: a `global_attention_mask` in batches is not counted",
  "graph.balanced-experts": "experts have equal shares of the tokens; each runs by itself, on the tokens it is given",

  // Why there is no estimate
  "engine.family": 'no graph of the family "{family}" was captured',
  "engine.too-many-bytes": "its steps need more bytes than are counted exactly (8 PiB)",
  "engine.sizes": "the model's `config.json` does not give every size",
  "engine.window":
    "PyTorch raises: a window of {window} does not fit into {over}, by the sizes in the model's `config.json`",
  "engine.windows": "PyTorch raises: no convolution has stride {by}, padding {around} and dilation {apart}",
  "engine.view": "PyTorch raises: {count} elements do not fit into {sizes}, by the sizes in the model's `config.json`",
  "engine.broadcast":
    "PyTorch raises: sizes {sizes} and {others} do not go together, by the sizes in the model's `config.json`",
  "engine.heads":
    "PyTorch raises: {heads} heads of queries do not go with {of} of keys, by the sizes in the model's `config.json`",
  "engine.chosen": "PyTorch raises: {count} of {of} values cannot be chosen, by the sizes in the model's `config.json`",
  "engine.nothing-joined": "PyTorch raises: nothing is left to be joined, by the sizes in the model's `config.json`",
  "engine.layer-size": "no layer can have the size {size} that the script gives `{name}`",
  "engine.weight-size": "no weight can have the size {sizes} that the model's `config.json` gives `{name}`",
  "engine.config": "the model's `config.json` cannot be run: {failure}",
  "engine.no-rule": "an operator is given what the engine has no rule for: {failure}",
  "engine.config-sizes": "the model's `config.json` lacks a size that its graph needs, or states it as something else",
  "engine.backward-twice":
    "PyTorch raises: reentrant checkpoints differentiate what layers share twice; `use_reentrant: false` does not",
  "engine.fault": "the engine failed by a mistake of its own ({failure}); the config is not at fault",
  "engine.not-captured": "{family} with {attention} attention for {task} was not captured",
  "engine.no-stage": "no stage of the pipeline",
  "engine.optimizer": "optimizer {name}",
  "engine.operator": "operator {name}",
  "engine.activation": "activation {name}",
  "engine.module-kind": "module kind {kind}",
  "engine.no-weight": "module {path} without a weight",
  "engine.no-tensor": "call of {path} without a tensor",
  "engine.not-alive": "value {name} is not alive",
  "engine.fused-pieces": "the fused loss compiled; uncompiled, or without bfloat16, its logits are float32",
  "engine.beside": "the forward of the model beside is not counted",
  "engine.own-loss": "the script's own loss is not followed: the model's is counted",
  "engine.no-layer": "no layer for index {index}",
  "engine.block-inputs": "a block takes tensors only",
  "engine.fourier": "a Fourier transform in {dtype}: on CUDA it takes float32, and float16 over powers of two only",
  "engine.no-output": "a model without an output",
  "engine.no-head": "a model without a head cannot generate",
  "engine.no-states": "a model whose states cannot be told",
  "engine.too-long":
    "its steps allocate more often than is followed ({millions} million times); by then they hold {size}",
  "engine.too-many-weights": "the model's `config.json` asks for more than {count} weights, each a tensor of its own",
  "engine.no-operand": "an operator has nothing to work on: the config takes a branch that was not captured",
  "engine.no-time-left": "what was asked for first took all the time there is for one answer",
  "engine.layers": "the layers' events cannot be followed",
  "engine.generation": "generation with {family}",
  "engine.ppo-library": "PPO of this library",
  "engine.ppo-fsdp": "PPO under FSDP",
  "engine.ppo-scorers": "PPO with value and reward models like {family}",
  "engine.reward-model": "{trainer} with a reward model like {family}",
  "engine.critic": "a critic like {family}",
  "engine.companion": "{trainer} beside {name}",
  "engine.trained-prompts": "{trainer} with trained prompts",
  "engine.trainer": "{trainer} of {task} with {family}",
  "engine.degrees": "parallel degrees that multiply to {degree} on {devices} devices",
  "engine.tensor-heads": "tensor parallel degree {degree} of {heads} heads",
  "engine.many-stages": "{stages} stages of a pipeline on one GPU; {most} at most are followed",
  "engine.pipeline-decoder": "pipeline parallel degree {degree} of an encoder and a decoder",
  "engine.context-attention": "context parallel degree {degree} with {attention} attention for {task}",
  "engine.ring-mask": "attention over shared sequences with a mask",
  "engine.exchanged-heads": "{degree} GPUs that exchange tokens for {heads} heads: one does not divide the other",
  "engine.ring-kernel": "attention over shared sequences that torch's context parallelism cannot run",
  "engine.experts-sharded":
    "expert parallel degree {degree} under sharding: experts and the rest are spread over different ranks",
  "engine.experts-divide": "expert parallel degree {degree} of {family}: its experts do not divide",
  "engine.experts-none": "expert parallel degree {degree} of {family}: it has no experts",
} as const;
