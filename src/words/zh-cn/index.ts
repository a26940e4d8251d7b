/** Every sentence in Simplified Chinese: an id that English has and this lacks does not compile. */
import type { EN } from "../en";
import { ANALYSIS } from "./analysis";
import { EDITS } from "./edits";
import { ENGINE } from "./engine";
import { EVIDENCE } from "./evidence";
import { FRAMEWORKS } from "./frameworks";
import { PINS } from "./pins";
import { SYNTAX } from "./syntax";

export const ZH_CN: Readonly<Record<keyof typeof EN, string>> = {
  ...ANALYSIS,
  ...EDITS,
  ...ENGINE,
  ...EVIDENCE,
  ...FRAMEWORKS,
  ...PINS,
  ...SYNTAX,
};
