/** Every sentence in English, by id. The contract's fields of the JSON report hold these. */
import { ANALYSIS } from "./analysis";
import { EDITS } from "./edits";
import { ENGINE } from "./engine";
import { EVIDENCE } from "./evidence";
import { FRAMEWORKS } from "./frameworks";
import { PINS } from "./pins";
import { RULES } from "./rules";
import { SYNTAX } from "./syntax";

export const english = () => ({
  ...ANALYSIS,
  ...EDITS,
  ...ENGINE,
  ...EVIDENCE,
  ...FRAMEWORKS,
  ...PINS,
  ...RULES,
  ...SYNTAX,
});

export type English = ReturnType<typeof english>;
