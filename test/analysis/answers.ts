/** What is said of a run, to be compared with what is said of another. */
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

export type Files = Readonly<Record<string, string>>;

/** Findings on the spelling of a value are no effect of it. */
const SPELLING = /unknown-key|removed-key|invalid-value|wrong-type/;

/** Answers to one workspace after another, with one analyzer: all that is said but what repeats the documents. */
export function answering(): (files: Files, main: string) => Promise<string> {
  const runtime = memoryRuntime({});
  const analyzer = createAnalyzer(runtime);
  let now: Files = {};
  return async (files, main) => {
    for (const path of new Set([...Object.keys(now), ...Object.keys(files)]))
      if (now[path] !== files[path]) {
        runtime.write(path, files[path]);
        analyzer.invalidate(uri(path));
      }
    now = files;
    const { report } = await analyzer.analyse(uri(main), { device: "RTX 4090" });
    return JSON.stringify(
      report.runs.map(({ settings: _settings, documents: _documents, id: _id, plans: _plans, findings, ...said }) => ({
        ...said,
        findings: findings.flatMap(({ code, message }) => (SPELLING.test(code) ? [] : [code, message])),
      })),
    );
  };
}
