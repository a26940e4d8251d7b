/** What `#SBATCH` lines ask of the cluster. */
import { emptyMap } from "../text";
import type { Entry, MapNode } from "../tree";
import { typed } from "./nodes";

export function directivesOf(text: string): MapNode {
  const entries: Entry[] = [];
  for (const match of text.matchAll(/^#SBATCH[ \t]+(--?([A-Za-z][\w-]*))(?:[= \t]+([^\s#]+))?/gm)) {
    const [whole, flag = "", key = "", value] = match;
    const keyStart = match.index + whole.indexOf(flag);
    const keySpan = { start: keyStart, end: keyStart + flag.length };
    const end = match.index + whole.length;
    const start = value === undefined ? end : end - value.length;
    entries.push({
      key,
      keySpan,
      value: { kind: "scalar", value: value === undefined ? true : typed(value), raw: value ?? "", start, end },
    });
  }
  return { ...emptyMap({ start: 0, end: text.length }), entries };
}

/** Variables that Slurm sets for the job, by the option that decides them (`man sbatch`, output environment variables). */
const JOB_VARIABLES: readonly (readonly [string, readonly string[]])[] = [
  ["SLURM_NNODES", ["nodes", "N"]],
  ["SLURM_JOB_NUM_NODES", ["nodes", "N"]],
  ["SLURM_NTASKS", ["ntasks", "n"]],
  ["SLURM_NTASKS_PER_NODE", ["ntasks-per-node"]],
  ["SLURM_GPUS_PER_NODE", ["gpus-per-node"]],
  ["SLURM_GPUS_ON_NODE", ["gpus-per-node", "gres"]],
  ["SLURM_GPUS", ["gpus", "G"]],
];

/** What the job's lines say of the variables that its script may read. */
export function jobVariables({ entries }: MapNode): Entry[] {
  return JOB_VARIABLES.flatMap(([key, options]): Entry[] => {
    const found = entries.findLast((entry) => options.includes(entry.key));
    if (found?.value.kind !== "scalar") return [];
    const count = /(?:^|:)(\d{1,6})$/.exec(String(found.value.value))?.[1];
    if (count === undefined) return [];
    return [{ key, keySpan: found.keySpan, value: { ...found.value, value: Number(count) } }];
  });
}
