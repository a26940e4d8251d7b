"""What is said where nothing more can be done, in both languages: `VRAM_LENS_LANGUAGE` names the other."""

import os

SENTENCES = {
    "no-torch": (
        "This Python ({python}) cannot import torch ({why}): name the one that you train with.",
        "此 Python（{python}）无法导入 torch（{why}）：请指定训练所用的 Python。",
    ),
    "old-torch": (
        "This Python ({python}) has torch {version}; {oldest} is the oldest that is known to work.",
        "此 Python（{python}）的 torch 为 {version}；已知可用的最旧版本是 {oldest}。",
    ),
    "no-file": ("There is no file {file}.", "没有文件 {file}。"),
    "time": ("stopped after {seconds:g} s: --time-limit gives more.", "已在 {seconds:g} 秒后结束：可用 --time-limit 延长。"),
    "printed": ("stopped: the code printed more than {most} MiB.", "已结束：代码输出超过 {most} MiB。"),
    "interrupted": ("interrupted", "已中断"),
    "left": ("{script} left with status {status} too early.", "{script} 过早退出，状态为 {status}。"),
    "syntax": ("{script} is not valid for this Python ({error}).", "{script} 对此 Python 无效（{error}）。"),
    "failed": ("{script} stopped in {place}: {error}.", "{script} 在 {place} 处停止：{error}。"),
    "no-device": ("{script} put nothing on a CUDA device.", "{script} 没有使用 CUDA 设备。"),
    "no-backward": ("{path} ended without a backward of a model.", "{path} 结束时没有模型的反向传播。"),
    "not-traced": ("{entry} could not be traced: {error}.", "无法追踪 {entry}：{error}。"),
    "recurrent": (
        "Recurrent layers (LSTM, GRU, RNN) cannot be checked without a card: cuDNN alone says how much they keep.",
        "没有 GPU 就无法检查循环层（LSTM、GRU、RNN）：只有 cuDNN 知道它们保留多少。",
    ),
    "eight-bit": (
        "Weights of eight bits by bitsandbytes (load_in_8bit) cannot be checked without a card: which columns of a product stay in 16 "
        "bits depends on values. The estimate counts them; four bits (nf4, fp4) can be checked.",
        "没有 GPU 就无法检查 bitsandbytes 的 8 位权重（load_in_8bit）：哪些列保留 16 位取决于数值。估算会计入它们；4 位（nf4、fp4）可以检查。",
    ),
    "steps": ("{count} optimizer steps", "{count} 个优化器步"),
    "ended": ("the script ended", "脚本已结束"),
    "not-asked": ("not asked, as a check has no network: {names}", "未访问（检查时没有网络）：{names}"),
    "not-changed": ("not changed, a copy was written: {names}", "未改动（写入的是副本）：{names}"),
    "not-removed": ("not removed: {names}", "未删除：{names}"),
    "no-card": ("This Python sees no CUDA device: there is nothing to measure.", "此 Python 看不到 CUDA 设备：没有可测量的。"),
    "any-inputs": (
        "The model's forward takes any number of inputs (*args): name the class, and its inputs with --inputs.",
        "模型的 forward 接受任意数量的输入（*args）：请指定类，并用 --inputs 指定输入。",
    ),
    "input-kind": (
        "The script gives the model's {name} as {kind}: name the class, and its inputs with --inputs.",
        "脚本传给模型的 {name} 是 {kind}：请指定类，并用 --inputs 指定输入。",
    ),
    "size": (
        "{text}: a size such as 24GB.",
        "{text}：应为大小，例如 24GB。",
    ),
    "no-accelerate": (
        "--accelerate needs accelerate in this Python ({error}).",
        "--accelerate 需要此 Python 装有 accelerate（{error}）。",
    ),
    "no-distributed": (
        "This torch has no torch.distributed: --ranks needs it.",
        "此 torch 没有 torch.distributed：--ranks 需要它。",
    ),
    "entry": (
        "{entry}: FILE.py, FILE.py:MODEL, or a model's folder.",
        "{entry}：应为 FILE.py、FILE.py:MODEL 或模型文件夹。",
    ),
    "graph-name": (
        "{name}: a graph's name is made of letters, digits, dots and dashes (--name).",
        "{name}：图的名称只能由字母、数字、点和连字符组成（--name）。",
    ),
    "unread": (
        "{file} cannot be read ({error}).",
        "无法读取 {file}（{error}）。",
    ),
    "no-message": (
        "No out-of-memory message of PyTorch in this text.",
        "此文本中没有 PyTorch 的显存不足信息。",
    ),
    "no-config": (
        "{folder} has no config.json that can be read.",
        "{folder} 中没有可读取的 config.json。",
    ),
    "no-own-code": (
        "{folder}/config.json has no `auto_map`: transformers has the model's own code.",
        "{folder}/config.json 没有 `auto_map`：模型代码在 transformers 中。",
    ),
    "code-elsewhere": (
        "The code {code} does not stand in {folder}.",
        "代码 {code} 不在 {folder} 中。",
    ),
    "no-class": (
        "{file} has no class {name}.",
        "{file} 中没有类 {name}。",
    ),
    "no-model-code": (
        "{folder}/config.json names no model and config that can be made: {names}.",
        "{folder}/config.json 没有指明可以创建的模型和配置：{names}。",
    ),
    "input-form": (
        "{word}: inputs are written NAME=DTYPE[SIDES], as in idx=int64[B,S].",
        "{word}：输入的写法是 NAME=DTYPE[SIDES]，例如 idx=int64[B,S]。",
    ),
    "input-sides": (
        "{word}: sides are numbers or the sizes {letters}.",
        "{word}：各维应为数字或大小 {letters}。",
    ),
    "input-value": (
        "{word}: neither DTYPE[SIDES] (dtypes: {dtypes}) nor a value.",
        "{word}：既不是 DTYPE[SIDES]（数据类型：{dtypes}），也不是值。",
    ),
    "no-output": (
        "forward returns no tensor of floating point numbers: say the loss with --loss, an expression of `out`.",
        "forward 没有返回浮点张量：请用 --loss 给出损失（`out` 的表达式）。",
    ),
    "not-run": (
        "forward does not run on {inputs}: {error}",
        "forward 无法以 {inputs} 运行：{error}",
    ),
    "not-guessed": (
        "No example inputs could be guessed for forward({names}): say them with --inputs, as in 'x=float[B,3,I,I]' (the last guess, {last}, ended in {error}).",
        "无法猜出 forward({names}) 的示例输入：请用 --inputs 指定，例如 'x=float[B,3,I,I]'（最后一次尝试 {last} 以 {error} 结束）。",
    ),
    "no-graph": (
        "The forward could not be written down as a graph: {error}",
        "无法将 forward 写成图：{error}",
    ),
    "no-model": (
        "{file} has no {name}. Classes of models there: {known}.",
        "{file} 中没有 {name}。其中的模型类：{known}。",
    ),
    "made-model": (
        "{name} is a model that was made on import; name its class, or a function that makes it.",
        "{name} 是导入时创建的模型；请指定它的类或创建它的函数。",
    ),
    "no-default": (
        "{made}({name}) has no default, and nothing says what it is. Write the call: {file}:'{made}({name}=...)'.",
        "{made}({name}) 没有默认值，也无从得知。请写出调用：{file}:'{made}({name}=...)'。",
    ),
    "no-autograd": (
        "PyTorch {version} on {system} does not run autograd on a device that is not there ({error}).",
        "{system} 上的 PyTorch {version} 无法在不存在的设备上运行 autograd（{error}）。",
    ),
    "no-writing": (
        "This system lets no program write to its own code ({error}).",
        "此系统不允许程序改写自身代码（{error}）。",
    ),
    "by-config": (
        "weights of published models have no values: they are made by their config",
        "已发布模型的权重没有数值：按其配置创建",
    ),
    "equal-pictures": (
        "{name}: not on this machine, so equal pictures stand in",
        "{name}：不在本机，以相同的图片代替",
    ),
    "no-values": (
        "{name}: weights of published models have no values",
        "{name}：已发布模型的权重没有数值",
    ),
    "no-metric": (
        "{name}: a metric that is not on this machine counts nothing",
        "{name}：不在本机的指标不计算任何内容",
    ),
    "rows": (
        "{name}: not on this machine, so {rows:,} rows of {words:,} words stand in ({columns})",
        "{name}：不在本机，以 {rows:,} 行、每行 {words:,} 词代替（{columns}）",
    ),
    "keeps-nothing": (
        "{name}: not on this machine, so it keeps nothing",
        "{name}：不在本机，不保存任何内容",
    ),
    "stand-in": (
        "{name}: its config is the published one, its tokenizer a stand-in",
        "{name}：配置为已发布的配置，分词器为替代品",
    ),
    "first-rank": (
        "the first of {world:,} ranks; what NCCL keeps of the card for itself is not counted",
        "{world:,} 个进程中的第一个；NCCL 自身占用的显存不计入",
    ),
}
"""By id: English, Chinese."""


def say(name, /, **facts):
    """A sentence by its id, in the language that the caller asks for."""
    return SENTENCES[name][os.environ.get("VRAM_LENS_LANGUAGE") == "zh-cn"].format(**facts)
