/**
 * What calls of a tokenizer say of the samples' lengths. Source: `transformers/tokenization_utils_base.py` (`__call__`,
 * `_get_padding_truncation_strategies`: a length without a strategy cuts to it, too).
 */

import type { Entry, PythonCall, PythonModule } from "../../syntax/tree";
import type { SettingName } from "../../terms/settings";
import type { LocatedSetting } from "../types";
import { given, keyword, plain, said } from "./called";
import { rawOf } from "./loads";
import { callsBehind, trainingOf } from "./training";

const TOKENIZES =
  /(?:^|[._])(?:tok|tokenizer|tokeniser|processor)(?:\.(?:__call__|encode|encode_plus|batch_encode_plus|apply_chat_template))?$/i;
/** Keywords of what is tokenized: texts to be written stand apart from those to be read. */
const WRITTEN = ["text_target"];
const TARGET = /label|target|tgt|summar|answer|translation/i;
/** Models that read one text and write another. */
const WRITES = /Seq2Seq|ConditionalGeneration|MTModel/;
/** One column of the data, by its name. */
const COLUMN = /^\w{1,40}\[["'](\w{1,40})["']\]$/;

/** Which lengths a call says: with texts to be read and texts to be written beside each other, both are cut to it. */
function lengthsSaid(call: PythonCall, python: PythonModule): readonly SettingName[] {
  if (WRITTEN.some((name) => keyword(call, name) !== undefined)) {
    const reads = keyword(call, "text") !== undefined || call.positional.length > 0;
    return reads ? ["sequence_length", "target_length"] : ["target_length"];
  }
  const bound = python.assignments.entries.find(({ value }) => value.start === call.start);
  const writes = WRITES.test(trainingOf(python).load?.callee ?? "");
  const column = writes ? COLUMN.exec(rawOf(call.positional[0]) ?? "")?.[1] : undefined;
  const length = writes ? keyword(call, "max_length")?.value : undefined;
  const words = [bound?.key, column, length?.kind === "scalar" ? length.raw : undefined];
  return [words.some((word) => TARGET.test(word ?? "")) ? "target_length" : "sequence_length"];
}

/** Names for the length of the pieces that texts joined to one another are cut into, and for what cuts them. */
const PIECES = /^(?:block|chunk)_size$/i;
const CUTS = /group|chunk|concat/i;

/** The length of the pieces, which are full, where a dataset is mapped with a function that cuts it so. */
function cutInPieces({ assignments, calls }: PythonModule): readonly LocatedSetting[] {
  const cuts = calls.some(
    ({ callee, positional }) => /(?:^|\.)map$/.test(callee) && CUTS.test(rawOf(positional[0]) ?? ""),
  );
  if (!cuts) return [];
  const size =
    assignments.entries.find(({ key, value }) => PIECES.test(key) && typeof plain(value) === "number") ??
    calls.map(cutFrom).find((entry) => entry !== undefined);
  return size === undefined ? [] : [said("sequence_length", size), said("padding", size, "max_length")];
}

/** How far apart the places are that pieces are cut at (`range(0, total_length, data_args.block_size)`). */
function cutFrom({ callee, calleeSpan, positional }: PythonCall): Entry | undefined {
  const value = callee === "range" ? positional[2] : undefined;
  return value !== undefined && Number(plain(value)) > 1 ? { key: callee, keySpan: calleeSpan, value } : undefined;
}

/** Names for how long a data set's samples are, where it is made. */
const SAMPLES =
  /^(?:(?:max_)?seq(?:uence)?_?len(?:gth)?|max_len(?:gth)?|block_size|chunk_(?:size|len(?:gth)?)|cutoff_len)$/i;

/** The length that the call which makes the trainer's data set gives its samples (`TextDataset(…, block_size=128)`). */
function madeLength(python: PythonModule): readonly LocatedSetting[] {
  const { trainer } = trainingOf(python);
  return callsBehind(python, given(trainer, "train_dataset")).flatMap(({ keywords }) => {
    const entry = keywords.entries.find(({ key }) => SAMPLES.test(key));
    const length = plain(entry?.value);
    return entry !== undefined && typeof length === "number" && length >= 1 ? [said("sequence_length", entry)] : [];
  });
}

/** A list of tokens that is cut where it is put together (`input_ids = input_ids[:MAX_LENGTH]`). */
const CUT = /\[:\s{0,4}(\w{1,60})\]$/;
const TOKENS = "input_ids";

function cutByHand({ assignments, calls }: PythonModule): readonly LocatedSetting[] {
  // Or where what is cut is made a tensor (`torch.tensor(inputs["input_ids"][i][:max_length])`).
  const made = calls.flatMap(({ callee, positional: [value] }) =>
    value === undefined ? [] : [{ key: callee, value }],
  );
  const scalars = new Map(
    assignments.entries
      .filter(({ value }) => value.kind === "scalar")
      .map((one) => [one.key, one] as const)
      .toReversed(),
  );
  for (const { key, value } of [...assignments.entries, ...made]) {
    const raw = rawOf(value) ?? "";
    const bound = raw.includes(TOKENS) || key === TOKENS ? CUT.exec(raw)?.[1] : undefined;
    if (bound === undefined) continue;
    const named = scalars.get(bound);
    const length = named?.value.kind === "scalar" ? named.value.value : Number(bound);
    if (typeof length !== "number" || !(length >= 1)) continue;
    return [said("sequence_length", named ?? { key, keySpan: value, value }, length)];
  }
  return [];
}

const LOADS_TOKENIZER = /Tokenizer\w{0,20}\.from_pretrained$/;
const OWN_LENGTH = "model_max_length";

/** The tokenizer's own length, where it is stated and a call cuts to it or fills up to it without saying another. */
function tokenizerLength({ assignments, calls }: PythonModule): readonly LocatedSetting[] {
  const cut = calls.find(
    (call) => TOKENIZES.test(call.callee) && ["truncation", "padding"].some((name) => isOn(keyword(call, name))),
  );
  const loaded = calls.flatMap((call) => (LOADS_TOKENIZER.test(call.callee) ? (keyword(call, OWN_LENGTH) ?? []) : []));
  const set = assignments.entries.filter(({ key }) => key.endsWith(`.${OWN_LENGTH}`));
  const entry = [...loaded, ...set].findLast(({ value }) => Number(plain(value)) >= 1);
  if (cut === undefined || entry === undefined) return [];
  return [said("sequence_length", entry, Number(plain(entry.value))), ...filled(cut)];
}

/** That samples are filled up to the length, where the call says so. */
function filled(call: PythonCall): readonly LocatedSetting[] {
  const padding = keyword(call, "padding");
  return padding !== undefined && plain(padding.value) === "max_length" ? [said("padding", padding)] : [];
}

/** Whether a strategy is asked for (`truncation=True`, `padding="max_length"`). */
function isOn(entry: Entry | undefined): boolean {
  const value = plain(entry?.value);
  return value !== undefined && value !== false && value !== null;
}

/** A recording is made ready: texts have no rate. */
function hears(call: PythonCall): boolean {
  return keyword(call, "sampling_rate") !== undefined;
}

/** `int(feature_extractor.sampling_rate * max_duration)` */
const BY_RATE =
  /^(?:int|round)\([\w.]{0,60}(?:sampling|sample)_rate ?\* ?([\w.]{1,60})\)$|^(?:int|round)\(([\w.]{1,60}) ?\* ?[\w.]{0,60}(?:sampling|sample)_rate\)$/;
/** Samples of a second, where nothing says another number (`WhisperFeatureExtractor`, `Wav2Vec2FeatureExtractor`). */
const RATE = 16_000;

/** Seconds that recordings are cut to where they are made ready (transformers/feature_extraction_sequence_utils.py, `_truncate`). */
export function recordingLength({ assignments, calls }: PythonModule): readonly LocatedSetting[] {
  for (const call of calls) {
    const entry = hears(call) && isOn(keyword(call, "truncation")) ? keyword(call, "max_length") : undefined;
    if (entry === undefined) continue;
    const written = BY_RATE.exec(rawOf(entry.value) ?? "");
    const name = written?.[1] ?? written?.[2];
    const named = assignments.entries.find(({ key }) => key === name)?.value;
    const samples = plain(entry.value);
    const rate = Number(plain(keyword(call, "sampling_rate")?.value) ?? RATE);
    const seconds = typeof samples === "number" ? samples / (rate > 0 ? rate : RATE) : Number(plain(named) ?? name);
    if (seconds > 0 && Number.isFinite(seconds)) return [said("audio_seconds", entry, seconds)];
  }
  return [];
}

/** Lengths that samples are cut to where they are tokenized, the longest of each kind, and whether they are filled up to it. */
export function tokenizedLengths(python: PythonModule): readonly LocatedSetting[] {
  const pieces = cutInPieces(python);
  if (pieces.length > 0) return pieces;
  const longest = new Map<SettingName, { readonly entry: Entry; readonly length: number; readonly call: PythonCall }>();
  for (const call of python.calls) {
    const entry = TOKENIZES.test(call.callee) && !hears(call) ? keyword(call, "max_length") : undefined;
    const length = plain(entry?.value);
    if (entry === undefined || typeof length !== "number") continue;
    for (const name of lengthsSaid(call, python))
      if (length >= 1 && length > (longest.get(name)?.length ?? 0)) longest.set(name, { entry, length, call });
  }
  if (longest.size === 0) {
    const made = madeLength(python);
    return [made, cutByHand(python), tokenizerLength(python)].find((found) => found.length > 0) ?? [];
  }
  return [...longest].flatMap(([name, { entry, call }]) => [
    said(name, entry),
    ...(name === "sequence_length" ? filled(call) : []),
  ]);
}
