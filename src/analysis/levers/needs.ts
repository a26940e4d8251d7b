/** What levers need besides the files, in the reader's words. */
import type { Requirement } from "../../core/advise/types";
import { type Locale, t } from "../messages";

/** Packages by their names; everything else once, however many levers need it. */
export function needsOf(requires: readonly Requirement[], locale: Locale): string[] {
  return [...new Set(requires.map(({ kind, name }) => (kind === "package" ? name : t(locale, `need.${kind}`))))];
}
