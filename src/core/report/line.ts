/** A run in one line, for places with room for no more: code lens, tree. */
import type { ReportRun } from "./schema";

/** `34.0 / 23.5 GiB · Does not fit`. */
export function runLine({ statement }: Pick<ReportRun, "statement">): string {
  return statement.short === "" ? statement.verdict : `${statement.short} · ${statement.verdict}`;
}
