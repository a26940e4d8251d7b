/**
 * Programs that train models of similarity: a sample is a query and a group of passages. A reranker reads each passage behind its
 * query and scores it, as a multiple-choice model does; an embedder reads queries and passages apart, which is counted as one forward
 * of as many tokens. Sources: FlagEmbedding (abc/finetune/embedder/AbsModeling.py, forward; abc/finetune/reranker/AbsModeling.py,
 * forward, and AbsDataset.py, `max_length`; AbsArguments.py and decoder_only/base/arguments.py for the defaults) and Tevatron
 * (tevatron/retriever/modeling/encoder.py, forward; tevatron/retriever/arguments.py).
 */

import type { ShellCommand } from "../../syntax/tree";
import type { SettingName } from "../../terms/settings";
import { derived } from "../schema";
import type { LocatedSetting } from "../types";
import { placed, scalar } from "./called";

interface Embedder {
  /** Module that `-m` starts. */
  readonly module: RegExp;
  /** Query and passage are one text. */
  readonly joins: boolean;
  /** What it does where no option says otherwise. */
  readonly defaults: readonly (readonly [SettingName, string | number | boolean])[];
}

/** The default of its decoder-only programs; encoders take no adapter. */
const ADAPTED: Embedder["defaults"] = [
  ["use_peft", true],
  ["lora_rank", 64],
  ["lora_target_modules", ".*\\.(?:v|q|k|gate|down|o|up)_proj"],
];

const EMBEDDERS: readonly Embedder[] = [
  { module: /^FlagEmbedding\.finetune\.embedder\.decoder_only\./, joins: false, defaults: ADAPTED },
  { module: /^FlagEmbedding\.finetune\.reranker\.decoder_only\./, joins: true, defaults: ADAPTED },
  { module: /^FlagEmbedding\.(?:finetune\.)?reranker\./, joins: true, defaults: [] },
  { module: /^FlagEmbedding\.(?:finetune\.embedder|baai_general_embedding|BGE_M3)\./, joins: false, defaults: [] },
  { module: /^tevatron\.(?:retriever\.)?driver\.train$/, joins: false, defaults: [] },
];

/** Texts of a group and their lengths, where the options leave them open. */
const GROUP = 8;
const QUERY = 32;
const PASSAGE = 128;

/** What an embedder's or a reranker's program makes of its samples; nothing for other commands. */
export function embedderSettings(
  command: ShellCommand,
  settings: readonly LocatedSetting[],
): readonly LocatedSetting[] {
  const at = command.words.findIndex(({ text }) => text === "-m");
  const module = at < 0 ? undefined : command.words[at + 1];
  const embedder = module && EMBEDDERS.find((one) => one.module.test(module.text));
  if (module === undefined || embedder === undefined) return [];
  const span = { start: module.node.start, end: module.node.end };
  const named = scalar(module.text, span);
  const from = placed("model_class", module.text, span, named, "AutoModelForMultipleChoice");
  const option = (key: string) =>
    settings.findLast((setting) => setting.key === key && typeof setting.value === "number");
  const group = option("train_group_size");
  const query = option("query_max_len");
  const passage = option("passage_max_len");
  const lengths = { query: Number(query?.value ?? QUERY), passage: Number(passage?.value ?? PASSAGE) };
  const texts = Number(group?.value ?? GROUP);
  const more = embedder.joins || lengths.passage < 1 ? 0 : Math.ceil(lengths.query / lengths.passage);
  const length = lengths.passage + (embedder.joins ? lengths.query : 0);
  return [
    from,
    derived(group ?? { ...from, key: "train_group_size" }, "choices", texts + more),
    ...(query === undefined || !embedder.joins ? [] : [derived(query, "sequence_length", length)]),
    derived(passage ?? { ...from, key: "passage_max_len" }, "sequence_length", length),
    ...(embedder.joins ? [] : [derived(query ?? from, "queries_apart", true)]),
    ...embedder.defaults.map(([name, value]) => derived(from, name, value)),
  ];
}
