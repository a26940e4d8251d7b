/** What the text reports say around the analysis' own messages, in both languages. Holes are `{name}`. */
import { type Locale, t } from "../analysis/messages";

const EN = {
  "verdict.fits": "fits",
  "verdict.tight": "tight",
  "verdict.does-not-fit": "does not fit",
  "verdict.unknown": "no verdict",
  "no-estimate": "no estimate",
  "model-unknown": "model unknown",
  "full-fine-tune": "full fine-tune",
  "partly-frozen": "partly frozen",
  rank: "{adapter} r {rank}",
  batch: "batch {batch}",
  tokens: "{batch} × {length} tokens",
  "no-device": "no GPU chosen",
  devices: "{count} × {device}",
  usable: " of {size} usable",
  "per-device": " per GPU",
  peak: "peak in {phase}",
  step: "step {low}–{high} s, bound by {bound}",
  "bound.compute": "compute",
  "bound.memory": "memory bandwidth",
  "bound.interconnect": "interconnect",
  "bound.host": "host",
  host: "host memory {parts} GiB",
  pinned: "{size} pinned",
  pageable: "{size} pageable",
  nvme: "{size} on NVMe",
  "fits-none": "fits none of the common cards; choose a GPU with --device",
  "fits-from": "fits {device} ({size} GiB) and larger; choose a GPU with --device",
  change: "smallest change that fits: {change}   {size} GiB, {speed}",
  add: "add {line}",
  remove: "remove {line}",
  saves: "saves {size} GiB, {speed}",
  "still-not": ", still does not fit",
  "no-change": "no change to suggest",
  "same-speed": "same speed",
  slower: "about {percent} % slower",
  faster: "about {percent} % faster",
  assumes: "assumes {list}",
  assumption: "{what} (set {key})",
  separator: ", ",
  "severity.error": "error",
  "severity.warning": "warning",
  "severity.information": "information",
  "severity.hint": "hint",
} as const;

export type WordId = keyof typeof EN;

const ZH_CN: Readonly<Record<WordId, string>> = {
  "verdict.fits": "放得下",
  "verdict.tight": "勉强放下",
  "verdict.does-not-fit": "放不下",
  "verdict.unknown": "无结论",
  "no-estimate": "没有估算",
  "model-unknown": "模型未知",
  "full-fine-tune": "全量微调",
  "partly-frozen": "部分冻结",
  rank: "{adapter} 秩 {rank}",
  batch: "批大小 {batch}",
  tokens: "{batch} × {length} 个 token",
  "no-device": "未选择 GPU",
  devices: "{count} × {device}",
  usable: "，可用 {size}",
  "per-device": "（每个 GPU）",
  peak: "峰值在{phase}",
  step: "每步 {low}–{high} 秒，受限于{bound}",
  "bound.compute": "计算",
  "bound.memory": "显存带宽",
  "bound.interconnect": "互连",
  "bound.host": "主机",
  host: "主机内存 {parts} GiB",
  pinned: "锁页 {size}",
  pageable: "可换页 {size}",
  nvme: "NVMe {size}",
  "fits-none": "常见显卡都放不下；用 --device 选择 GPU",
  "fits-from": "{device}（{size} GiB）及更大的显卡放得下；用 --device 选择 GPU",
  change: "能放下的最小改动：{change}   {size} GiB，{speed}",
  add: "添加 {line}",
  remove: "删除 {line}",
  saves: "节省 {size} GiB，{speed}",
  "still-not": "，仍放不下",
  "no-change": "没有可建议的改动",
  "same-speed": "速度不变",
  slower: "约慢 {percent} %",
  faster: "约快 {percent} %",
  assumes: "假设：{list}",
  assumption: "{what}（用 {key} 确定）",
  separator: "，",
  "severity.error": "错误",
  "severity.warning": "警告",
  "severity.information": "信息",
  "severity.hint": "提示",
};

export const WORDS: Readonly<Record<Locale, Readonly<Record<WordId, string>>>> = { en: EN, "zh-cn": ZH_CN };

/** Says one message. */
export type Say = (id: WordId, values?: Readonly<Record<string, string | number>>) => string;

/** The words of one language. */
export function words(locale: Locale): Say {
  return (id, values = {}) => WORDS[locale][id].replace(/\{(\w+)\}/g, (hole, name) => String(values[name] ?? hole));
}

/** Name of a component kind or a phase, as the hovers call it. */
export function named(locale: Locale, what: "component" | "phase", id: string): string {
  return t(locale, `${what}.${id}`);
}
