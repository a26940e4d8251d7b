/**
 * Files on disk, read as if each were hostile: only regular ones (a device, a pipe or a socket gives data for ever or
 * never), only up to a size, and never waited for without end. Links are followed, and what they lead to is judged.
 */
import { constants } from "node:fs";
import { type FileHandle, open, opendir, readlink, realpath, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Entry, FileAccess } from "../analysis/runtime";
import { decode } from "../terms/text";
import { Deadline } from "./deadline";
import { pathOf, uriOf } from "./paths";

/** Larger files are no configs; reading them would only cost memory. Bytes. */
export const LARGEST_FILE = 64 * 1024 * 1024;

/** Names of one folder that are looked at; a folder of more holds data. */
const MOST_NAMES = 20_000;

/** Links on the way to one file, as Linux counts them (`MAXSYMLINKS`). */
const MOST_LINKS = 40;

/** Devices that Windows finds in every folder, with any ending. */
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)\s*(?:\.|:|$)/i;

/** A path of another machine or of a device, as Windows spells them; `\\?\C:\` is neither. */
function leavesMachine(path: string): boolean {
  return /^[\\/]{2}/.test(path) && !/^[\\/]{2}\?[\\/][a-z]:/i.test(path);
}

/**
 * Where a path leads, looked up one link at a time so that a link to a share (`\\host\share`) is seen before it is
 * opened: on Windows opening it would sign in there.
 *
 * @returns undefined when there is nothing, or when it lies on another machine
 */
export async function followLinks(path: string, read: (path: string) => Promise<string>): Promise<string | undefined> {
  let at = resolve(path);
  for (let links = 0; links < MOST_LINKS; links++) {
    const link = await firstLink(at, read);
    if (link === undefined) return at;
    if (leavesMachine(link.target)) return undefined;
    at = resolve(dirname(link.path), link.target, link.rest);
  }
  return undefined;
}

async function firstLink(
  path: string,
  read: (path: string) => Promise<string>,
): Promise<{ readonly path: string; readonly target: string; readonly rest: string } | undefined> {
  const parts: string[] = [];
  for (let at = path; dirname(at) !== at; at = dirname(at)) parts.unshift(at);
  for (const part of parts) {
    const target = await read(part).catch(() => undefined);
    if (target !== undefined) return { path: part, target, rest: path.slice(part.length).replace(/^[\\/]/, "") };
  }
  return undefined;
}

/** The path after all links, when it may be opened. */
async function target(path: string): Promise<string | undefined> {
  if (process.platform !== "win32") return realpath(path);
  if (path.split(/[\\/]/).some((name) => WINDOWS_DEVICE.test(name))) return undefined;
  return followLinks(path, (at) => readlink(at));
}

/** Bytes of a regular file; undefined for everything else. */
async function readRegular(path: string): Promise<Uint8Array | undefined> {
  const real = await target(path);
  // Asked before it is opened: opening some devices has effects of its own.
  if (real === undefined || !(await stat(real)).isFile()) return undefined;
  // A pipe that took the file's place meanwhile must not block; Windows has no such flag.
  const file = await open(real, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    return await bytesOf(file);
  } finally {
    await file.close();
  }
}

/** At most as many bytes as the file said it has: one that grows while it is read, or has no size, ends there. */
async function bytesOf(file: FileHandle): Promise<Uint8Array | undefined> {
  const found = await file.stat();
  if (!found.isFile() || found.size > LARGEST_FILE) return undefined;
  const bytes = new Uint8Array(found.size);
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

async function namesIn(path: string): Promise<readonly Entry[]> {
  const names: Entry[] = [];
  for await (const entry of await opendir(path)) {
    if (names.length >= MOST_NAMES) break;
    if (entry.isFile()) names.push({ name: entry.name, type: "file" });
    else if (entry.isDirectory()) names.push({ name: entry.name, type: "directory" });
    else if (entry.isSymbolicLink()) {
      // Hub caches are made of links to blobs, so a link counts as what it points to.
      const led = await target(join(path, entry.name)).catch(() => undefined);
      const found = led === undefined ? undefined : await stat(led).catch(() => undefined);
      if (found?.isFile()) names.push({ name: entry.name, type: "file" });
      else if (found?.isDirectory()) names.push({ name: entry.name, type: "directory", linked: true });
    }
  }
  return names;
}

/** Files on disk. */
export function nodeFiles(deadline = new Deadline()): FileAccess {
  /** What is read of a `file:` URI; undefined for others, when it fails and when it takes too long. */
  const about = async <T>(uri: string, read: (path: string) => Promise<T | undefined>): Promise<T | undefined> => {
    const path = pathOf(uri);
    return path === undefined ? undefined : deadline.within(() => read(path));
  };
  return {
    readText: async (uri) => {
      const bytes = await about(uri, readRegular);
      return bytes === undefined ? undefined : decode(bytes);
    },
    stat: (uri) =>
      about(uri, async (path) => {
        const real = await target(path);
        const found = real === undefined ? undefined : await stat(real);
        if (!found?.isFile() && !found?.isDirectory()) return undefined;
        return { type: found.isDirectory() ? "directory" : "file", size: found.size, mtime: found.mtimeMs };
      }),
    list: async (uri) => (await about(uri, namesIn)) ?? [],
    resolve: (uri) =>
      about(uri, async (path) => {
        const real = await target(path);
        return real === undefined ? undefined : uriOf(real);
      }),
  };
}
