/** Every sentence in English, by id. The contract's fields of the JSON report hold these. */
import { ANALYSIS } from "./analysis";
import { ENGINE } from "./engine";
import { FRAMEWORKS } from "./frameworks";

export const EN = { ...ANALYSIS, ...ENGINE, ...FRAMEWORKS } as const;
