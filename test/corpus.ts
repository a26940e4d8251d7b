/** Real configs that lie beside the project or where `VRAM_LENS_CORPUS` says, for the tests that read them. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { rowsOf } from "./rows";

const FOLDER = process.env["VRAM_LENS_CORPUS"] ?? join(__dirname, "../../shared/corpus");

/** One file of the corpus. */
export interface CorpusEntry {
  /** Path below the corpus; its folder says where the file is from. */
  readonly file: string;
  /** Format as the index names it. */
  readonly format: string;
  readonly text: string;
}

/** Every file of the corpus; none where there is no corpus. */
export function corpusEntries(): readonly CorpusEntry[] {
  const index = join(FOLDER, "index.jsonl");
  if (!existsSync(index)) return [];
  return rowsOf<{ file: string; format: string }>(index).map(({ file, format }) => ({
    file,
    format,
    text: readFileSync(join(FOLDER, file), "utf8"),
  }));
}

/** A group of tests over every file of the corpus; one line says so where there is none. */
export function describeCorpus(title: string, tests: (entries: readonly CorpusEntry[]) => void): void {
  describe(title, () => {
    const entries = corpusEntries();
    if (entries.length === 0) it("is skipped: no corpus beside the project");
    else tests(entries);
  });
}
