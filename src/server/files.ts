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
    // Where no links are known a URI leads to itself.
    resolve: (uri) => pick(uri).resolve?.(uri) ?? Promise.resolve(uri),
  };
}

/** Sends a request to the client. */
export type SendRequest = <R>(method: string, params: object) => Promise<R>;

/** A virtual file system may be on the other end of the world, but it answers or it does not. Milliseconds. */
const LONGEST_WAIT = 20_000;

/**
 * Files read by the client (virtual workspaces, a server in a Web Worker). A request that fails, or that is not
 * answered, counts as absent.
 *
 * @param wait longest time to wait for an answer, in milliseconds
 */
export function clientFiles(send: SendRequest, wait = LONGEST_WAIT): FileAccess {
  const ask = <R>(method: string, uri: string): Promise<R | undefined> => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), wait);
    });
    const answer = send<R>(method, { uri } satisfies UriParams).catch(() => undefined);
    return Promise.race([answer, late]).finally(() => clearTimeout(timer));
  };
  return {
    readText: async (uri) => (await ask<ReadTextResult>(METHODS.readText, uri))?.text ?? undefined,
    stat: async (uri) => (await ask<StatResult>(METHODS.stat, uri))?.stat ?? undefined,
    list: async (uri) => (await ask<ListResult>(METHODS.list, uri))?.entries ?? [],
  };
}

/** No files at all: a client that cannot answer, and a server that has none. */
export const NO_FILES: FileAccess = {
  readText: async () => undefined,
  stat: async () => undefined,
  list: async () => [],
};
