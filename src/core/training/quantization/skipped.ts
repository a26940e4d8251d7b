/** Which modules a packed model keeps in full precision, by their names. */
import { matchesPattern } from "../../../terms/pattern";
import type { QuantizationSpec } from "../specs/quantization";

/** A pattern begins the path, or its text ends it (transformers/quantizers/quantizers_utils.py, should_convert_module). */
export function isSkipped(path: string, pattern: string): boolean {
  if (path.endsWith(pattern)) return true;
  return matchesPattern(pattern.replace(/^re:/, ""), path, "start");
}

/** Whether a module of this path is left as it is: a pattern meets it, or it is, or stands in, a module of one of the names. */
export function staysWhole({ skipModules, skipParts }: QuantizationSpec, path: string): boolean {
  if (skipModules?.some((pattern) => isSkipped(path, pattern)) === true) return true;
  return skipParts?.some((part) => `.${path}.`.includes(`.${part}.`)) === true;
}
