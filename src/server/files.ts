/**
 * The files the analysis sees: unsaved text of open documents first, then whatever reads their scheme.
 */
import type { FileAccess } from "../analysis/runtime";
import { type ListResult, METHODS, type ReadTextResult, type StatResult, type UriParams } from "./protocol";

/** The scheme of a URI, lower case; empty when it has none. */
export function schemeOf(uri: string): string {
  return /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1]?.toLowerCase() ?? "";
}

/** An open document as far as reading it goes. */
export interface OpenText {
  readonly version: number;
  getText(): string;
}

/**
 * Overlays open documents on files. A document that is open but not on disk exists; its size is its length and its
 * modification time its version, negative so that it never equals a time on disk.
 */
export function overlay(open: (uri: string) => OpenText | undefined, below: FileAccess): FileAccess {
  return {
    readText: async (uri) => open(uri)?.getText() ?? (await below.readText(uri)),
    stat: async (uri) => {
      const document = open(uri);
      if (document === undefined) return below.stat(uri);
      return { type: "file", size: document.getText().length, mtime: -1 - document.version };
    },
    list: (uri) => below.list(uri),
  };
}

/** Sends each URI to the access that can read its scheme. */
export function routed(reads: (scheme: string) => boolean, own: FileAccess, other: FileAccess): FileAccess {
  const pick = (uri: string) => (reads(schemeOf(uri)) ? own : other);
  return {
    readText: (uri) => pick(uri).readText(uri),
    stat: (uri) => pick(uri).stat(uri),
    list: (uri) => pick(uri).list(uri),
  };
}

/** Sends a request to the client. */
export type SendRequest = <R>(method: string, params: object) => Promise<R>;

/** Files read by the client (virtual workspaces, a server in a Web Worker). A failing request counts as absent. */
export function clientFiles(send: SendRequest): FileAccess {
  const params = (uri: string): UriParams => ({ uri });
  return {
    readText: (uri) =>
      send<ReadTextResult>(METHODS.readText, params(uri)).then(
        (result) => result.text ?? undefined,
        () => undefined,
      ),
    stat: (uri) =>
      send<StatResult>(METHODS.stat, params(uri)).then(
        (result) => result.stat ?? undefined,
        () => undefined,
      ),
    list: (uri) =>
      send<ListResult>(METHODS.list, params(uri)).then(
        (result) => result.entries,
        () => [],
      ),
  };
}

/** No files at all: a client that cannot answer, and a server that has none. */
export const NO_FILES: FileAccess = {
  readText: async () => undefined,
  stat: async () => undefined,
  list: async () => [],
};
