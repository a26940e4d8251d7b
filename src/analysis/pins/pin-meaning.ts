/** What a setting's pin says: for one that no format has a key of, such as the GPU. */
import { pinPathOf } from "../../formats/pins";
import { type Locale, messageId, t } from "../messages";

/** Meaning of the pin that states a setting; undefined where none does or nobody wrote that down. */
export function pinMeaning(name: string | null, locale: Locale): string | undefined {
  const path = name === null ? undefined : pinPathOf(name);
  const id = path === undefined ? undefined : messageId(`pin.${path}`);
  return id === undefined ? undefined : t(locale, id);
}
