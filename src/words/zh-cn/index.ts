/** Every sentence in Simplified Chinese: an id that English has and this lacks does not compile. */
import type { English } from "../en";
import { ANALYSIS } from "./analysis";
import { EDITS } from "./edits";
import { ENGINE } from "./engine";
import { EVIDENCE } from "./evidence";
import { FRAMEWORKS } from "./frameworks";
import { PINS } from "./pins";
import { RULES } from "./rules";
import { SYNTAX } from "./syntax";

export const chinese = (): Readonly<Record<keyof English, string>> => ({
  ...ANALYSIS,
  ...EDITS,
  ...ENGINE,
  ...EVIDENCE,
  ...FRAMEWORKS,
  ...PINS,
  ...RULES,
  ...SYNTAX,
});
