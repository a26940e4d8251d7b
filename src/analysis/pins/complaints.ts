/** What was asked for by name and not understood, as a person reads it. */
import type { Complaint } from "../linking/asked";
import { type Locale, t, text } from "../messages";

/** A complaint in one line: `no GPU called "A100 80" (did you mean NVIDIA A100-SXM4-80GB?)`. */
export function complaintText({ what, near }: Complaint, locale: Locale): string {
  return withNear(text(what, locale), near, locale);
}

/** What was not understood, and the nearest names. */
export function withNear(what: string, near: readonly string[], locale: Locale): string {
  return near.length === 0 ? what : t(locale, "asked.near", { what, names: near.join(", ") });
}
