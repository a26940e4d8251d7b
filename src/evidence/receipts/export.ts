/** A receipt without what is a person's own: for a bug report. */
import type { Receipt } from "./schema";

/** Words of a hub's name are public; a path is not. */
function isPath(name: string): boolean {
  return /^[.~/\\]|^[A-Za-z]:[\\/]|[\\/].*[\\/]/.test(name);
}

/** Settings whose values may be paths or names of files are left out. */
function isPlain(value: unknown): boolean {
  return typeof value !== "string" || (value.length < 60 && !/[\\/]/.test(value));
}

/** Paths, the command line, the time and the model's name if it is a path are taken out; hashes stay, as they tell files apart. */
export function exported(receipt: Receipt): Receipt {
  const { run, when: _, ...rest } = receipt;
  const { command: _command, model, settings, documents, ...other } = run;
  return {
    ...rest,
    when: "",
    run: {
      ...other,
      documents: documents.map(({ path, sha256 }, index) => ({
        path: `document-${index + 1}${/\.[A-Za-z0-9]{1,6}$/.exec(path)?.[0] ?? ""}`,
        ...(sha256 === undefined ? {} : { sha256 }),
      })),
      ...(model == null || isPath(model) ? {} : { model }),
      ...(settings === undefined
        ? {}
        : { settings: Object.fromEntries(Object.entries(settings).filter(([, value]) => isPlain(value))) }),
    },
  };
}
