/** Captured architecture graphs of one model family, as stored in `models/graphs/<family>.json`. */
export interface FamilyGraphs {
  readonly family: string;
}
