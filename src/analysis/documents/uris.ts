/** URI arithmetic. All URIs are spelled as `vscode-uri` prints them, so that equal files have equal strings. */
import { URI, Utils } from "vscode-uri";

/** A local file whose URI is spelled as it always would be: thousands of those may change at once. */
const PLAIN = /^file:\/\/(?:\/[\w.~-]+)+$/;
const PLAIN_ROOT = "file:///";

/** The one spelling of a URI. */
export function normalise(uri: string): string {
  return PLAIN.test(uri) ? uri : parse(uri).toString();
}

/** A URI's parts; a text that is none is a path of its own. */
function parse(uri: string): URI {
  const text = wellFormed(uri);
  // `file:////host/share` says a share; vscode-uri refuses it.
  const [, scheme, rest] = /^([a-z][\w+.-]+):\/\/(\/\/.*)$/is.exec(text) ?? [];
  const share = rest === undefined ? undefined : shareOf(rest);
  if (scheme !== undefined && share !== undefined) return placeOn(scheme, share);
  try {
    return URI.parse(text);
  } catch {
    return URI.file(`/${text.replace(/^[\\/]*/, "")}`);
  }
}

/** Text without halves of surrogate pairs, which cannot be written in a URI. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}

/** Host and path of `//host/path`. */
function shareOf(path: string): { readonly host: string; readonly path: string } | undefined {
  const match = /^\/\/([^/]+)(.*)$/s.exec(path);
  return match === null ? undefined : { host: match[1] ?? "", path: match[2] ?? "" };
}

function placeOn(scheme: string, { host, path }: { readonly host: string; readonly path: string }): URI {
  return Utils.resolvePath(URI.from({ scheme, authority: host, path: "/" }), path);
}

/** Folder of a file, without a trailing slash. */
export function parentOf(uri: string): string {
  if (PLAIN.test(uri)) return uri.slice(0, Math.max(PLAIN_ROOT.length, uri.lastIndexOf("/")));
  return Utils.dirname(parse(uri)).toString();
}

/**
 * `path` (with `/` or `\`, relative or absolute) seen from a folder. A share (`\\host\share`) is a place on that host,
 * on every system; which places are opened is for `reach.ts` to say.
 */
export function joinUri(folder: string, path: string): string {
  const base = parse(folder);
  const clean = wellFormed(path).replaceAll("\\", "/");
  if (/^[a-z][\w+.-]+:\/\//i.test(clean)) return Utils.resolvePath(parse(clean), ".").toString();
  const share = shareOf(clean);
  if (share !== undefined) return placeOn(base.scheme, share).toString();
  if (clean.startsWith("/")) return Utils.resolvePath(base, clean).toString();
  if (/^[A-Za-z]:\//.test(clean)) return Utils.resolvePath(base, `/${clean}`).toString();
  return Utils.joinPath(base, clean).toString();
}

/** Path of `uri` below `folder`, decoded and with `/`; undefined when it is not below it. */
export function relativePath(folder: string, uri: string): string | undefined {
  const base = parse(folder);
  const target = parse(uri);
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
  return Utils.basename(parse(uri));
}
