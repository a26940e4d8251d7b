/** Sentences the server itself writes, in the languages of the product. Findings and hovers come worded already. */

export type Locale = "en" | "zh-cn";

/** The product's language for a client locale such as `zh-CN` or `en-GB`. */
export function localeOf(tag: string | undefined): Locale {
  return /^zh\b/i.test(tag ?? "") && !/^zh-(tw|hk|mo|hant)/i.test(tag ?? "") ? "zh-cn" : "en";
}

export const TEXT = {
  en: {
    openPanel: "Open panel",
    allPlans: "All plans…",
    setBatch: "Set {0}",
    pointToModel: "Point to a local folder…",
    chooseModel: "Choose from the catalogue…",
    traceModel: "Trace this model…",
    apply: "Apply {0}",
    applyBest: "Apply the best plan",
    chooseDevice: "Choose GPU",
    disableLine: "Disable {0} for this line",
    disableFile: "Disable {0} for this file",
    fixAll: "Apply all safe VRAM Lens fixes",
    changesResult: "Changes what is trained",
    otherFile: "Changes another file",
    review: "Review before applying",
    moreFindings: "{0} more findings are not shown",
    planGone: "The file changed: this plan is no longer offered. Look at the new plans.",
    runGone: "This run is no longer in the file.",
    planEmpty: "This plan has no edit that can be written into the files.",
    written: "Written into the config",
    settleUnknown: "`{0}` is not a key that can be pinned.",
    settleUnreadable: "{0} cannot be read, so nothing was written. Fix it first.",
    settleTitle: "{0} in .vramlens.yaml",
    keepTraceTitle: "How {0} is traced, in .vramlens.yaml",
    notRecognised: "Not read as a training config.",
    partOf: "part of the run {0}",
    off: "VRAM Lens is switched off for this file.",
    unknownDevice: "The setting vramlens.device names no known GPU: {0}",
    "part.weights": "weights",
    "part.adapters": "adapters",
    "part.gradients": "gradients",
    "part.optimizer": "optimizer",
    "part.activations": "activations",
    "part.logits-and-loss": "logits and loss",
    "part.temporaries": "temporaries",
    "part.communication": "communication",
    "part.buffers": "buffers",
    "part.inputs": "inputs",
    atPeak: "Alive at the peak because of this setting",
  },
  "zh-cn": {
    openPanel: "打开面板",
    allPlans: "所有方案…",
    setBatch: "设为 {0}",
    pointToModel: "指定本地文件夹…",
    chooseModel: "从清单中选择…",
    traceModel: "追踪此模型…",
    apply: "应用：{0}",
    applyBest: "应用最佳方案",
    chooseDevice: "选择 GPU",
    disableLine: "对此行停用 {0}",
    disableFile: "对此文件停用 {0}",
    fixAll: "应用 VRAM Lens 的所有安全修复",
    changesResult: "会改变训练结果",
    otherFile: "会修改其他文件",
    review: "应用前请检查",
    moreFindings: "另有 {0} 条未显示",
    planGone: "文件已改动，此方案不再适用。请查看新的方案。",
    runGone: "文件中已没有此运行。",
    planEmpty: "此方案没有可写入文件的改动。",
    written: "已写入配置",
    settleUnknown: "`{0}` 不是可以固定的键。",
    settleUnreadable: "无法读取 {0}，因此没有写入。请先修正它。",
    settleTitle: ".vramlens.yaml 中的 {0}",
    keepTraceTitle: "{0} 的追踪方式（.vramlens.yaml）",
    notRecognised: "未识别为训练配置。",
    partOf: "属于运行 {0}",
    off: "VRAM Lens 对此文件已关闭。",
    unknownDevice: "设置 vramlens.device 中没有已知的 GPU：{0}",
    "part.weights": "权重",
    "part.adapters": "适配器",
    "part.gradients": "梯度",
    "part.optimizer": "优化器状态",
    "part.activations": "激活",
    "part.logits-and-loss": "logits 与损失",
    "part.temporaries": "临时张量",
    "part.communication": "通信缓冲区",
    "part.buffers": "模型缓冲区",
    "part.inputs": "输入",
    atPeak: "由此设置造成、峰值时占用的显存",
  },
} as const satisfies Record<Locale, Record<string, string>>;

export type TextKey = keyof (typeof TEXT)["en"];

/** A sentence with its placeholders filled. */
export function text(locale: Locale, key: TextKey, ...values: readonly (string | number)[]): string {
  return TEXT[locale][key].replace(/\{(\d)\}/g, (_, index) => String(values[Number(index)] ?? ""));
}
