/** Findings that say the verdict. Where it stands above already they are not said again. */
export const VERDICT_FINDINGS: ReadonlySet<string> = new Set(["does-not-fit", "tight"]);
