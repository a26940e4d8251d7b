/**
 * Data that a script makes of numbers itself: what its data set's samples, or the batches of its loop, are shaped like. Source:
 * torch/_refs and torch/_torch_docs.py (`size` of the makers), torch/utils/data/dataset.py (TensorDataset takes tensors along their
 * first dimension), datasets/arrow_dataset.py (`from_dict` takes columns, `from_list` rows).
 */
import type { LocatedNode, PythonCall, PythonModule, PythonRepeat, Span } from "../../syntax/tree";
import type { SettingName } from "../../terms/settings";
import type { LocatedSetting } from "../types";
import { at, given, isInside, lastName, plain } from "./called";
import { hearsWaves } from "./freezing-rules";
import { trainingLoader } from "./loop";
import { builtNetwork } from "./networks";
import { callAt, callsBehind, trainingOf } from "./training";

const MAKERS = /^(?:torch\.)?(?:randint|full|zeros|ones|rand|randn|empty)$/;
/** What gives whole numbers where no dtype says otherwise. */
const WHOLE = /(?:^|\.)(?:randint|full)$/;
const WHOLE_DTYPE = /(?:^|\.)(?:long|int|int64|int32)$/;
const DATA_SET = /(?:^|\.)(?:Iterable|Map)?Dataset$/;
const STACKS = /^(?:torch\.)?stack$/;
const TENSORS = /(?:^|\.)TensorDataset$/;
const OF_COLUMNS = /(?:^|\.)from_dict$/;
const OF_ROWS = /(?:^|\.)from_list$/;
const WRITTEN = /label|target|tgt|decoder/i;
/** Models that read one text, a picture or sound, and whose labels are another text. */
const WRITES = /Seq2Seq|ConditionalGeneration|MTModel|EncoderDecoderModel|ForCTC/;
/** Samples of a second (transformers, `Wav2Vec2FeatureExtractor`). */
const RATE = 16_000;

/** Sizes of a tensor that a call makes; one that is not known is undefined. */
function sizesOf(call: PythonCall): readonly (number | undefined)[] {
  const listed = [given(call, "size"), ...call.positional.toReversed()].find((node) => node?.kind === "list");
  const nodes: readonly LocatedNode[] = listed?.kind === "list" ? listed.items : call.positional;
  return nodes.map(plain).map((size) => (typeof size === "number" && size >= 1 ? size : undefined));
}

function isWhole(call: PythonCall): boolean {
  const dtype = given(call, "dtype");
  if (dtype !== undefined) return dtype.kind === "unknown" && WHOLE_DTYPE.test(dtype.raw);
  const [, value] = call.positional;
  return WHOLE.test(call.callee) && (lastName(call.callee) === "randint" || Number.isInteger(plain(value)));
}

interface Made {
  /** What makes it, and where that stands. */
  readonly from: Pick<PythonCall, "callee" | "calleeSpan">;
  readonly whole: boolean;
  /** Of one sample. */
  readonly sizes: readonly (number | undefined)[];
  readonly name: string;
  /** How many samples a batch is made of; undefined: a loader says that. */
  readonly batch: number | undefined;
}

/**
 * How much shorter than what a name holds a sample is: where its last elements are left out of one part and as many of its first of
 * another, the one part is what follows the other (`x[:-1], x[1:]`).
 */
function shiftOf(name: string, within: Span, { cuts = [] }: PythonModule): number {
  const own = cuts.filter((cut) => cut.name === name && isInside(cut, within));
  const shift = own.find(({ last }) => last > 0 && own.some(({ first }) => first === last));
  return shift?.last ?? 0;
}

/** What samples are made in, and the names that values are bound to by where they stand. */
function samplesOf({ classes, assignments }: PythonModule) {
  const sets = classes.filter(({ bases }) => bases.some((base) => DATA_SET.test(base)));
  // The first of a place.
  const names = new Map(assignments.entries.toReversed().map(({ key, value }) => [value.start, key]));
  return { sets, names };
}

/** The tensors that samples or batches are made of. */
function madeBy(python: PythonModule, { sets, names }: ReturnType<typeof samplesOf>): readonly Made[] {
  const { calls, assignments } = python;
  const makers = calls.filter(({ callee }) => MAKERS.test(callee));
  if (makers.length === 0) return [];
  const along = new Set(
    calls
      .filter(({ callee }) => TENSORS.test(callee))
      .flatMap(({ positional }) => positional.flatMap((node) => callsBehind(python, node))),
  );
  const stacks = calls.filter(({ callee }) => STACKS.test(callee));
  const loader = trainingLoader(python);
  const rows = loader === undefined ? undefined : (given(loader, "dataset") ?? loader.positional[0]);
  const listed = rows?.kind === "unknown" ? (rows.source ?? rows) : undefined;
  const held = new Set(assignments.entries.map(({ value }) => callAt(python, value)));
  return makers.flatMap((call): Made[] => {
    const bound = names.get(call.start);
    const name = call.key ?? bound ?? "";
    const sizes = sizesOf(call);
    const made = { from: call, whole: isWhole(call), name, sizes };
    const set = sets.find((one) => isInside(call, one));
    if (set !== undefined) {
      const shift = bound === undefined || sizes.length !== 1 ? 0 : shiftOf(bound, set, python);
      return [{ ...made, sizes: sizes.map((size) => size && size - shift), batch: undefined }];
    }
    // Samples that are laid on one another, each made by itself (`torch.stack([torch.zeros(16000) for row in rows])`).
    if (stacks.some((one) => isInside(call, one))) return [{ ...made, batch: undefined }];
    if (along.has(call)) return [{ ...made, sizes: sizes.slice(1), batch: undefined }];
    if (loader !== undefined) {
      const inRow = call.key !== undefined && (isInside(call, listed) || !held.has(call));
      return inRow ? [{ ...made, batch: undefined }] : [];
    }
    return [{ ...made, sizes: sizes.slice(1), batch: sizes[0] }];
  });
}

/** Lists of numbers that samples are made of: what a data set gives, and the rows of a table. */
function listedBy(
  { repeats = [], calls }: PythonModule,
  { sets, names }: ReturnType<typeof samplesOf>,
): readonly Made[] {
  if (repeats.length === 0) return [];
  const named = (name: RegExp) => calls.filter(({ callee }) => name.test(callee));
  const [columns, rows] = [named(OF_COLUMNS), named(OF_ROWS)];
  const isSample = (list: PythonRepeat): boolean => {
    const isIn = (around: readonly Span[]) => around.some((one) => isInside(list, one));
    return list.inList ? isIn(columns) : isIn(sets) || (list.key !== undefined && isIn(rows));
  };
  return repeats.filter(isSample).flatMap((list): Made[] => {
    const name = list.key ?? names.get(list.start);
    if (name === undefined) return [];
    const from = { callee: name, calleeSpan: { start: list.start, end: list.end } };
    return [{ from, whole: true, sizes: [list.length], name, batch: undefined }];
  });
}

/** What the shapes say: the longest of each kind. */
export function madeData(python: PythonModule): readonly LocatedSetting[] {
  const load = trainingOf(python).load ?? builtNetwork(python);
  if (load === undefined) return [];
  const longest = new Map<SettingName, { readonly from: Made["from"]; readonly value: number }>();
  const keep = (name: SettingName, from: Made["from"], value: number | undefined): void => {
    if (value !== undefined && value > (longest.get(name)?.value ?? 0)) longest.set(name, { from, value });
  };
  const samples = samplesOf(python);
  for (const { from, whole, sizes, name, batch } of [...madeBy(python, samples), ...listedBy(python, samples)]) {
    const [first, second, third] = sizes;
    if (whole && sizes.length === 1 && (first ?? 0) > 1) {
      const writes = WRITTEN.test(name) && WRITES.test(load.callee);
      keep(writes ? "target_length" : "sequence_length", from, first);
      keep("micro_batch_size", from, batch);
    } else if (!whole && sizes.length === 3 && (first === 3 || first === 1)) {
      keep("image_size", from, Math.max(second ?? 0, third ?? 0) || undefined);
      keep("micro_batch_size", from, batch);
    } else if (!whole && sizes.length === 1 && first !== undefined && hearsWaves(load.callee))
      keep("audio_seconds", from, first / RATE);
  }
  const lengths = longest.has("sequence_length") ? longest.get("sequence_length") : undefined;
  return [
    ...[...longest].map(([name, { from, value }]) => at(name, from, value)),
    // All samples are of one shape.
    ...(lengths === undefined ? [] : [at("padding", lengths.from, "max_length")]),
  ];
}
