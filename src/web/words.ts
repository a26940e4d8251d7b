/** What the page says around the panel; the panel has its own words. */
import type { Locale } from "../server/text";

const EN = {
  title: "Does it fit?",
  intro: "Paste a training config. It stays in this page.",
  config: "Config",
  file: "File name",
  device: "GPU",
} as const;

export type PageWord = keyof typeof EN;

export const PAGE: Readonly<Record<Locale, Readonly<Record<PageWord, string>>>> = {
  en: EN,
  "zh-cn": {
    title: "放得下吗？",
    intro: "粘贴训练配置。内容只留在此页面。",
    config: "配置",
    file: "文件名",
    device: "GPU",
  },
};
