/** URIs as a person at a terminal reads them. */
import { isAbsolute, relative, sep } from "node:path";
import { pathOf } from "../host/node";
import { printable } from "../words/printable";

/** Path below `cwd` with forward slashes, `.` for `cwd` itself; undefined when the document is elsewhere. */
export function relativePath(uri: string, cwd: string): string | undefined {
  const path = pathOf(uri);
  if (path === undefined) return undefined;
  const below = relative(cwd, path) || ".";
  return below.startsWith("..") || isAbsolute(below) ? undefined : below.split(sep).join("/");
}

/** Shortest readable name of a document: relative path, absolute path, or the URI itself. */
export function displayPath(uri: string, cwd: string): string {
  return printable(relativePath(uri, cwd) ?? pathOf(uri) ?? uri);
}
