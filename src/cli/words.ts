/** What the text reports say around the analysis' own messages, in both languages. Holes are `{name}`. */
import { type Locale, messageId, t } from "../analysis/messages";
import { fill } from "../words/message";

const EN = {
  "verdict.fits": "fits",
  "verdict.tight": "tight",
  "verdict.does-not-fit": "does not fit",
  "verdict.unknown": "no verdict",
  "model-unknown": "model unknown",
  "full-training": "full training",
  "partly-frozen": "partly frozen",
  rank: "{adapter} r {rank}",
  batch: "batch {batch}",
  tokens: "{batch} × {length|,} tokens",
  devices: "{count} × {device}",
  "not-counted": "not counted: {count} {count|key|keys}",
  "not-counted.toward": " ({list})",
  "not-counted.more": "{count} may need more",
  "not-counted.less": "{count} may need less",
  step: "step {low}–{high} s, bound by {bound}",
  generation: "generation {low}–{high} s of it",
  "bound.compute": "compute",
  "bound.memory": "memory bandwidth",
  "bound.interconnect": "interconnect",
  "bound.host": "host",
  host: "host memory {parts}",
  pinned: "{size} GiB pinned",
  pageable: "{size} GiB pageable",
  nvme: "{size} GiB on NVMe",
  "choose-device": "{room}; choose a GPU with --device",
  change: "smallest change that fits: {change}   {size} GiB, {speed}",
  "still-not": ", still does not fit",
  "no-change": "nothing has to change",
  "none-fits": "no change found that makes it fit",
  "stage.essentials": "Essentials",
  "stage.optimised": "Optimised",
  "stage.advanced": "Advanced",
  stages: "Step by step:",
  "stage-end": "{stage}: {size} GiB, {verdict}, {speed}",
  "stage-item": "{title}   frees {size} GiB, {speed}",
  "stage-needs": "   needs {list}",
  limits: "Everything else as it is:",
  "limit-batch": "largest micro-batch {value} ({size} GiB)",
  "limit-sequence": "longest sequence {value|,} tokens ({size} GiB)",
  "limit-none": "even batch size 1 does not fit",
  "limit-device": "smallest GPU {device} {memory} GiB",
  "limit-count": "fewest GPUs {value} ({size} GiB on each)",
  assumes: "assumes {list}",
  assumption: "{what} (set {key})",
  separator: ", ",
  "severity.error": "error",
  "severity.warning": "warning",
  "severity.information": "information",
  "severity.hint": "hint",
  skipped: "skipped",
  summary: "{runs} {runs|run|runs}: {parts}",
  "summary.fits": "{count} {count|fits|fit}",
  "summary.tight": "{count} tight",
  "summary.does-not-fit": "{count} {count|does|do} not fit",
  "summary.unknown": "{count} without a verdict",
  "summary.skipped": "files skipped: {count}",
  "explain.at": "at {place}",
} as const;

export type WordId = keyof typeof EN;

const ZH_CN: Readonly<Record<WordId, string>> = {
  "verdict.fits": "放得下",
  "verdict.tight": "勉强放下",
  "verdict.does-not-fit": "放不下",
  "verdict.unknown": "无结论",
  "model-unknown": "模型未知",
  "full-training": "全参数训练",
  "partly-frozen": "部分冻结",
  rank: "{adapter} 秩 {rank}",
  batch: "微批大小 {batch}",
  tokens: "{batch} × {length|,} 个 token",
  devices: "{count} × {device}",
  "not-counted": "{count} 个键未计入",
  "not-counted.toward": "（{list}）",
  "not-counted.more": "{count} 个可能更多",
  "not-counted.less": "{count} 个可能更少",
  step: "每步 {low}–{high} 秒，受限于{bound}",
  generation: "其中生成 {low}–{high} 秒",
  "bound.compute": "计算",
  "bound.memory": "显存带宽",
  "bound.interconnect": "互连",
  "bound.host": "主机",
  host: "主机内存 {parts}",
  pinned: "锁页 {size} GiB",
  pageable: "可换页 {size} GiB",
  nvme: "NVMe {size} GiB",
  "choose-device": "{room}；用 --device 选择 GPU",
  change: "能放下的最小改动：{change}   {size} GiB，{speed}",
  "still-not": "，仍放不下",
  "no-change": "无需改动",
  "none-fits": "没有找到能放下的改动",
  "stage.essentials": "基础",
  "stage.optimised": "优化",
  "stage.advanced": "进阶",
  stages: "分步方案：",
  "stage-end": "{stage}：{size} GiB，{verdict}，{speed}",
  "stage-item": "{title}   释放 {size} GiB，{speed}",
  "stage-needs": "   需要 {list}",
  limits: "其余不变：",
  "limit-batch": "最大微批大小 {value}（{size} GiB）",
  "limit-sequence": "最长序列 {value|,} 个 token（{size} GiB）",
  "limit-none": "微批大小为 1 也放不下",
  "limit-device": "最小的 GPU {device} {memory} GiB",
  "limit-count": "最少 {value} 张 GPU（每张 {size} GiB）",
  assumes: "假设：{list}",
  assumption: "{what}（用 {key} 确定）",
  separator: "，",
  "severity.error": "错误",
  "severity.warning": "警告",
  "severity.information": "信息",
  "severity.hint": "提示",
  skipped: "已跳过",
  summary: "共 {runs} 个运行：{parts}",
  "summary.fits": "{count} 个放得下",
  "summary.tight": "{count} 个勉强放下",
  "summary.does-not-fit": "{count} 个放不下",
  "summary.unknown": "{count} 个无结论",
  "summary.skipped": "跳过 {count} 个文件",
  "explain.at": "位置：{place}",
};

export const WORDS: Readonly<Record<Locale, Readonly<Record<WordId, string>>>> = { en: EN, "zh-cn": ZH_CN };

/** Says one message. */
export type Say = (id: WordId, values?: Readonly<Record<string, string | number>>) => string;

/** The words of one language. */
export function words(locale: Locale): Say {
  // Values are made printable where they are shown; what is painted stays so.
  return (id, values = {}) => fill(WORDS[locale][id], values, String, (value) => value);
}

/** Name of a component kind or a phase, as the hovers call it. */
export function named(locale: Locale, what: "component" | "phase", id: string): string {
  const known = messageId(`${what}.${id}`);
  return known === undefined ? id : t(locale, known);
}
