/** Why measured peaks lie far from the estimate, row by row: what `docs/coverage.md` says beside its figures. */
import type { ComparedPeak } from "../published/compare";
import type { ComparedLoop } from "./compare";
import { GROUPS } from "./peaks";

/** Errors above these are explained. */
const FAR = { loops: 0.1, tables: 0.15 } as const;
/** Runs whose other default this near is meant. */
const AGREES = 0.01;

const WHY = {
  workspaces:
    "cuDNN's workspaces, of kernels that its heuristics chose on that card: the band has them. With a cap near the number the same networks ran in it (xMem's second runs: MnasNet with 200 and 323 pictures took 17 and 16 % less, MobileNetV2 with 251 took 14 % less)",
  holes:
    "the figure lies between the allocated peak and the pool that is replayed around it: what kernels took for a moment changed the holes that later blocks fall into",
  default: "it agrees within 1 % with a loop that clears gradients before backward, the older of the two defaults",
  lengths:
    "lines shorter than the limit came first and left odd segments: the same run took 13 % less on the other card",
  unknown: "not explained",
} as const;

/** What is behind a loop's error; null where it is near. */
export function causeOf(one: Pick<ComparedLoop, "row" | "error" | "otherError" | "tensors">): keyof typeof WHY | null {
  const { row, error, otherError, tensors } = one;
  if (Math.abs(error) <= FAR.loops) return null;
  if (otherError !== null && Math.abs(otherError) <= AGREES) return "default";
  if (row.family === "cnn") return error < 0 ? "workspaces" : row.ground_bytes >= tensors ? "holes" : "unknown";
  return error < 0 ? "lengths" : "unknown";
}

/** What is behind the errors of a table's rows, by the table's key. */
const TABLES: Readonly<Record<string, string>> = {
  torchtitan:
    "of June 2024: its loop kept the logits in float32 through backward (3.9 GiB, given up a week later in its commit e29b6b4d4), and its norm was written out in float32",
  "qwen-readme":
    "Qwen 1's own code, which was not captured; where DeepSpeed runs it in half precision, no autocast raises the loss to float32, and its logits cost half of what is counted. Of the nine of full training under ZeRO-3, 20 to 37 % over, what else is behind it is not known",
};

const signed = (share: number): string => `${share < 0 ? "−" : "+"}${(100 * Math.abs(share)).toFixed(1)} %`;

/** Loops that are far from the estimate, each with what is behind it. */
export function farLoops(loops: readonly ComparedLoop[]): readonly string[] {
  const far = loops.flatMap((one) => {
    const cause = one.row.real_oom ? null : causeOf(one);
    return cause === null ? [] : [{ ...one, cause }];
  });
  const causes = [...new Set(far.map(({ cause }) => cause))];
  const rows = far.map(({ row, error, cause }) => {
    const card = row.gpu.replace("NVIDIA ", "").replace("GeForce ", "");
    return `| ${row.model}, ${row.optimizer}, batch ${row.batch}, ${card} | ${signed(error)} | ${causes.indexOf(cause) + 1} |`;
  });
  return [
    ...["| more than 10 % off | error | why |", "|---|---|---|", ...rows, ""],
    ...causes.map((cause, at) => `${at + 1}. ${WHY[cause]}.`),
  ];
}

/** Tables with figures that are far from the estimate: how many, how far, and what is behind them. */
export function farTables(peaks: readonly ComparedPeak[]): readonly string[] {
  const rows = GROUPS.flatMap(({ table, name }) => {
    const far = peaks.filter(({ row, error }) => row.source === table && Math.abs(error) > FAR.tables);
    if (far.length === 0) return [];
    const errors = far.map(({ error }) => error).sort((a, b) => a - b);
    const range = [...new Set([errors[0]!, errors.at(-1)!].map(signed))].join(" to ");
    return [`| ${name} | ${far.length} | ${range} | ${TABLES[table] ?? WHY.unknown} |`];
  });
  return ["| more than 15 % off, beside the published page's | figures | error | why |", "|---|---|---|---|", ...rows];
}
