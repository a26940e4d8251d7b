/** Settings in the words of the script that states them. */

import type { LoadedDocument } from "../documents/store";
import type { Place } from "../frameworks/settings";

/**
 * What stands in a script where a setting is stated: the argument's name, or that of the call. Undefined for data files, and
 * where the key itself stands there.
 */
export function writtenAs(document: LoadedDocument, key: string, { keySpan }: Place): string | undefined {
  if (document.config?.parsed.python === undefined) return undefined;
  const named = document.text.slice(keySpan.start, keySpan.end).split(".").at(-1) ?? "";
  return /^\w{1,80}$/.test(named) && named !== key ? named : undefined;
}
