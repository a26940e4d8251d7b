/**
 * What the engine supposes, and why it cannot follow a run, in Simplified Chinese. The core speaks English; a test holds
 * every sentence of it against this table.
 */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // Assumptions.
  [/^(.+) was not captured: (.+) with its dimensions stands in$/, "$1 没有计算图：以相同尺寸的 $2 代替"],
  [
    /^peft refuses dropout, DoRA and biases on experts that are stored together: this is the estimate of plain LoRA there$/,
    "peft 不支持在合并存储的专家上使用 dropout、DoRA 和偏置：此处按普通 LoRA 估算",
  ],
  [
    /^PyTorch refuses products of two dtypes, which this model's weights come to as they are loaded: train it in float32 or under autocast$/,
    "该模型按此精度加载后，权重会出现两种精度相乘，PyTorch 会报错：请用 float32 或 autocast 训练",
  ],
  [
    /^experts have equal shares of the rows, as routers are trained to give them; each expert runs by itself, on the rows that it is given$/,
    "假定各专家分到的行数相等（路由器按此训练）；每个专家只在分给它的行上单独运行",
  ],
  [
    /^all words look at the first one and it at all, as the library's classifier sets it$/,
    "假定只有首个 token 使用全局注意力，与库中分类头的设置一致",
  ],
  [
    /^all words look at the first one only, where the library's class has them look at every word of the choice$/,
    "假定只有首个 token 使用全局注意力，而库中该类让选项的每个 token 都使用",
  ],
  [
    /^each text has one end-of-sequence token, whose states are classified$/,
    "假定每段文本只有一个结束 token（eos），分类头使用其隐藏状态",
  ],
  [
    /^no cache of keys and values: the text side's own use_cache is false as well, which the Trainer leaves as it is$/,
    "假定不保留 KV 缓存：文本部分自己的 use_cache 也为 false（Trainer 不会修改它）",
  ],
  [
    /^no word that all others look at: batches hold no global_attention_mask$/,
    "假定没有 token 使用全局注意力：批次中没有 global_attention_mask",
  ],
  [
    /^8-bit copies of Transformer Engine as its source has them: other recipes keep more or fewer$/,
    "Transformer Engine 的 8 位副本按其源码计算：其他配方保留的更多或更少",
  ],
  [/^without the kernels of (.+); with them (.+) holds less$/, "按未安装 $1 的算子计算；安装后 $2 占用更少"],
  [
    /^tensor parallel degree (\d+): gathered inputs and sums over the ranks are in the band$/,
    "张量并行度 $1：聚合的输入与各 rank 间的求和计入误差带",
  ],
  [
    /^pipeline parallel degree (\d+): the 1F1B schedule, layers divided evenly$/,
    "流水线并行度 $1：按 1F1B 调度、层数均分",
  ],
  [
    /^context parallel degree (\d+): every rank has its share of the tokens; keys and values of the others come on top$/,
    "上下文并行度 $1：每个 rank 持有一部分 token；其他 rank 的键和值另计",
  ],
  [
    /^expert parallel degree (\d+): tokens are taken to be spread evenly; those sent and received come on top$/,
    "专家并行度 $1：假定 token 均匀分布；收发的 token 另计",
  ],
  [
    /^no workspace of cuDNN, whose kernels may rearrange the largest convolution's input and output$/,
    "未计入 cuDNN 的工作区：其算子可能重排最大卷积的输入和输出",
  ],
  [
    /^no copy and workspace of cuSOLVER while weights are taken apart for the adapter$/,
    "未计入为适配器分解权重时 cuSOLVER 的副本和工作区",
  ],
  // Why there is no estimate.
  [/^PPO of this library$/, "该库的 PPO"],
  [/^a critic like (.+)$/, "与 $1 相同的 critic"],
  [/^PPO under FSDP$/, "FSDP 下的 PPO"],
  [/^(.+) with a reward model like (.+)$/, "奖励模型为 $2 的 $1"],
  [/^PPO with value and reward models like (.+)$/, "价值模型和奖励模型为 $1 的 PPO"],
  [/^a model whose states cannot be told$/, "无法分辨其状态的模型"],
  [/^no graph of the family "(.*)" was captured$/, "模型族 “$1” 没有计算图"],
  [/^the model's config\.json does not give every size$/, "模型的 config.json 没有给出全部尺寸"],
  [/^the model's config\.json cannot be run: (.*)$/, "无法按模型的 config.json 运行：$1"],
  [
    /^the head and the states before it as they were loaded: `cast_lm_head_to_fp32` raises them to float32$/,
    "输出头及其前的状态按加载时的精度计算：`cast_lm_head_to_fp32` 会把它们提升为 float32",
  ],
  [
    /^the gradient of what is picked is scattered out of place at the peak; a card may write it in place$/,
    "峰值处所选元素的梯度按非原地方式写入；显卡上可能为原地写入",
  ],
  [/^an operator is given what the engine has no rule for: (.*)$/, "引擎没有处理某个算子该种输入的规则：$1"],
  [/^no stage of the pipeline$/, "流水线没有任何阶段"],
  [/^(.+) was captured where (.+): that code stands in$/, "$1 的计算图仅覆盖 $2 的情形：以该情形的代码代替"],
  [/^(.+) with (.+) attention for (.+) was not captured$/, "$1 在 $2 注意力下的 $3 任务没有计算图"],
  [/^generation with (.+)$/, "用 $1 生成"],
  [/^a model without a head cannot generate$/, "没有输出头的模型无法生成"],
  [/^a model without an output$/, "模型没有输出"],
  [/^the layers' events cannot be followed$/, "无法跟踪各层的事件"],
  [/^optimizer (.+)$/, "优化器 $1"],
  [/^operator (.+)$/, "算子 $1"],
  [
    /^a Fourier transform in (.+): on CUDA it takes float32, and float16 over powers of two only$/,
    "$1 下的傅里叶变换：CUDA 上只支持 float32，float16 仅限 2 的幂长度",
  ],
  [/^activation (.+)$/, "激活函数 $1"],
  [/^module kind (.+)$/, "模块类型 $1"],
  [/^module (.+) without a weight$/, "模块 $1 没有权重"],
  [/^call of (.+) without a tensor$/, "调用 $1 时没有张量"],
  [/^value (.+) is not alive$/, "值 $1 已被释放"],
  [/^no layer for index (.+)$/, "没有编号为 $1 的层"],
  [/^a block takes tensors only$/, "层只接受张量"],
  [/^(.+) with trained prompts$/, "$1 与可训练提示"],
  [/^(.+) beside (.+)$/, "$1 与 $2 并存"],
  [/^(.+) of (.+) with (.+)$/, "$3 的 $2 任务上的 $1"],
  [/^parallel degrees that multiply to (\d+) on (\d+) devices$/, "并行度之积为 $1，而设备数为 $2"],
  [/^tensor parallel degree (\d+) of (.+) heads$/, "对 $2 个头做 $1 路张量并行"],
  [/^tensor parallel degree (\d+) of (.+)$/, "对 $2 做 $1 路张量并行"],
  [/^pipeline parallel degree (\d+) of an encoder and a decoder$/, "对编码器-解码器做 $1 路流水线并行"],
  [/^context parallel degree (\d+) with (.+) attention for (.+)$/, "在 $2 注意力下对 $3 任务做 $1 路上下文并行"],
  [
    /^expert parallel degree (\d+) under sharding: experts and the rest are spread over different ranks$/,
    "分片时的 $1 路专家并行：专家与其余参数分布在不同的 rank 上",
  ],
  [/^expert parallel degree (\d+) of (.+): its experts do not divide$/, "对 $2 做 $1 路专家并行：专家数不能整除"],
  [/^expert parallel degree (\d+) of (.+): it has no experts$/, "对 $2 做 $1 路专家并行：模型没有专家"],
];

/** A sentence of the engine in Simplified Chinese, or as it is. */
export function engineZh(sentence: string): string {
  const pattern = PATTERNS.find(([english]) => english.test(sentence));
  return pattern === undefined ? sentence : sentence.replace(pattern[0], pattern[1]);
}
