/** A tensor's sizes from its bytes, where the run's own dimensions make up exactly so many. */
import { DIMENSIONS } from "../../core/graph/dimensions";
import type { TrainingRun } from "../../core/training/run";

const WIDTHS: readonly { readonly bytes: number; readonly name: string }[] = [
  { bytes: 2, name: "16 bit" },
  { bytes: 4, name: "float32" },
];

/** Names of widths that configs state, by which tensors of one token are as wide. */
const TOKEN_WIDTHS = [
  ...DIMENSIONS.hidden,
  "intermediate_size",
  "ffn_dim",
  "n_inner",
  "d_ff",
  "ffn_hidden_size",
  "vocab_size",
];

function stated(run: TrainingRun, names: readonly string[]): readonly number[] {
  const { config } = run.model;
  const inner = config["text_config"];
  const sources = [config, ...(typeof inner === "object" && inner !== null ? [inner as Record<string, unknown>] : [])];
  const values = sources.flatMap((source) => names.map((name) => source[name]));
  return [...new Set(values.filter((value): value is number => typeof value === "number" && value > 0))];
}

/** Bytes of a block for a tensor of so many. */
function block(bytes: number): number {
  return Math.ceil(bytes / 512) * 512;
}

/** `8 × 2048 × 32000, float32`; undefined where no product of the run's dimensions, or more than one, has so many bytes. */
export function shapeOf(bytes: number, run: TrainingRun): string | undefined {
  const { microBatchSize: batch, sequenceLength: length } = run;
  const rows = [
    { shape: [batch, length], elements: batch * length },
    { shape: [batch, length - 1], elements: batch * (length - 1) },
  ];
  const [heads] = stated(run, DIMENSIONS.heads);
  const candidates = [
    ...stated(run, TOKEN_WIDTHS).flatMap((width) =>
      rows.map(({ shape, elements }) => ({ shape: [...shape, width], elements: elements * width })),
    ),
    ...(heads === undefined
      ? []
      : [{ shape: [batch, heads, length, length], elements: batch * heads * length * length }]),
  ];
  const found = new Set(
    candidates.flatMap(({ shape, elements }) =>
      WIDTHS.filter((width) => block(elements * width.bytes) === bytes).map(
        ({ name }) => `${shape.join(" × ")}, ${name}`,
      ),
    ),
  );
  const [only] = found;
  return found.size === 1 ? only : undefined;
}
