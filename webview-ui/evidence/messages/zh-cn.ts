import type { EvidenceTable } from "./en";

export const zhCn: EvidenceTable = {
  "oom.heading": "显存不足",
  "oom.none": "这段文字没有显存不足的报错。",
  "oom.card": "显卡",
  "oom.why": "原因",
  "oom.tensor": "哪个张量",
  "oom.estimate": "估算",
  "oom.avoid": "怎样可以避免",
  "oom.message": "报错原文",
  "oom.at": "位于 {file}:{line}",
  "oom.config": "与 {file} 对照",
  apply: "应用",
  preview: "预览",
};
