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
}
"""By id: English, Chinese."""


def say(name, **facts):
    """A sentence by its id, in the language that the caller asks for."""
    return SENTENCES[name][os.environ.get("VRAM_LENS_LANGUAGE") == "zh-cn"].format(**facts)
