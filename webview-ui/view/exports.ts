/** Kinds of export the page offers, in the order of its menu. */
export const EXPORTS = ["copy", "markdown", "html", "json", "csv", "svg", "png"] as const;
export type ExportKind = (typeof EXPORTS)[number];
