/** Paths as URIs and back. */
import { URI } from "vscode-uri";

/** `file:` URI of an absolute path, spelled as VS Code spells it. */
export function uriOf(path: string): string {
  return URI.file(path).toString();
}

/** Absolute path of a `file:` URI; undefined for any other scheme, and for other machines where a path cannot say it. */
export function pathOf(uri: string): string | undefined {
  try {
    const parsed = URI.parse(uri, true);
    if (parsed.scheme !== "file" || (parsed.authority !== "" && process.platform !== "win32")) return undefined;
    return parsed.fsPath;
  } catch {
    return undefined;
  }
}
