/** A copy of a tensor that the log names: no stream has it, as writing a checkpoint is no part of an estimate. */
import { segmentBytes } from "../../core/allocator/segment";
import { starred } from "../../core/matching/allocations";
import type { ParameterBlock } from "../../core/simulate";
import type { Failure } from "../../evidence/log/failures";
import { exact, type Locale, t } from "../messages";
import type { ExplainedTensor } from "./found";

/** Bytes of an element of a gathered weight. */
const WIDTHS = [4, 2];

/** Bytes of the copy: of the parameter of that name, else of one whose copy asks for the same segment (tied ones have one name), else what was asked for. */
function bytesOf(name: string, asked: number, within: number, blocks: readonly ParameterBlock[]): number {
  const own = blocks.filter((block) => block.name === name);
  const sizes = [...own, ...blocks].flatMap(({ elements }) => WIDTHS.map((width) => elements * width));
  return sizes.find((size) => Math.abs(segmentBytes(size) - asked) <= within + 1) ?? asked;
}

/** @param blocks parameters of the run that stands beside; empty: none does */
export function copyOf(
  { named, requested, allocated }: Failure,
  blocks: readonly ParameterBlock[],
  locale: Locale,
): ExplainedTensor | undefined {
  if (named === null || requested === null) return undefined;
  const { name, part } = named;
  const bytes = bytesOf(name, requested.bytes, requested.within, blocks);
  const parameter = starred(name);
  const said = t(locale, "oom.tensor-parameter", {
    what: t(locale, "oom.what-copy"),
    parameters: name,
    size: exact(bytes),
  });
  return {
    phase: part,
    kind: "temporaries",
    operator: "clone",
    scope: parameter.slice(0, Math.max(0, parameter.lastIndexOf("."))),
    parameters: [parameter],
    bytes,
    aliveBytes: allocated?.bytes ?? 0,
    said: [said],
  };
}
