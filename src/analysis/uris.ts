/** URI arithmetic. All URIs are spelled as `vscode-uri` prints them, so that equal files have equal strings. */
import { URI, Utils } from "vscode-uri";

/** The one spelling of a URI; the text itself when it is no URI. */
export function normalise(uri: string): string {
  try {
    return URI.parse(uri).toString();
  } catch {
    return uri;
  }
}

/** Folder of a file, without a trailing slash. */
export function parentOf(uri: string): string {
  return Utils.dirname(URI.parse(uri)).toString();
}

/** `path` (with `/` or `\`, relative or absolute) seen from a folder. */
export function joinUri(folder: string, path: string): string {
  const base = URI.parse(folder);
  const clean = path.replaceAll("\\", "/");
  if (/^[a-z][\w+.-]+:\/\//i.test(clean)) return normalise(clean);
  if (clean.startsWith("/")) return base.with({ path: clean }).toString();
  if (/^[A-Za-z]:\//.test(clean)) return base.with({ path: `/${clean}` }).toString();
  return Utils.joinPath(base, clean).toString();
}

/** Path of `uri` below `folder`, decoded and with `/`; undefined when it is not below it. */
export function relativePath(folder: string, uri: string): string | undefined {
  const base = URI.parse(folder);
  const target = URI.parse(uri);
  if (base.scheme !== target.scheme || base.authority !== target.authority) return undefined;
  const prefix = base.path.endsWith("/") ? base.path : `${base.path}/`;
  return target.path.startsWith(prefix) ? target.path.slice(prefix.length) : undefined;
}

/** The folder and every folder above it, nearest first, ending at the root. */
export function ancestors(folder: string): string[] {
  const all = [folder];
  for (let at = folder; all.length < 64; ) {
    const up = parentOf(at);
    if (up === at) break;
    all.push(up);
    at = up;
  }
  return all;
}

/** Last segment of the path, decoded. */
export function baseName(uri: string): string {
  return Utils.basename(URI.parse(uri));
}
