/** Links from a document to the other documents of its runs. */
import type { DocumentAnalysis } from "./analyzer";
import { baseName } from "./documents/uris";
import type { RunAnalysis } from "./estimate/run-analysis";
import { t } from "./messages";

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
