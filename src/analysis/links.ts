/** Links from a document to the other documents of its runs. */
import type { DocumentAnalysis } from "./analyzer";
import { t } from "./messages";
import type { RunAnalysis } from "./run-analysis";
import { baseName } from "./uris";

export function linksOf(uri: string, analyses: readonly RunAnalysis[]): ReturnType<DocumentAnalysis["links"]> {
  const seen = new Set<string>();
  return analyses.flatMap((analysis) => {
    const document = analysis.inputs.documents.find((candidate) => candidate.uri === uri);
    if (document === undefined) return [];
    return analysis.inputs.links.flatMap((link) => {
      const key = `${link.span.start} ${link.uri}`;
      if (link.from !== uri || seen.has(key)) return [];
      seen.add(key);
      const tooltip = t(analysis.locale, `link.${link.kind}`, { name: baseName(link.uri) });
      return [{ range: document.lines.range(link.span), target: link.uri, tooltip }];
    });
  });
}
