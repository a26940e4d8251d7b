/**
 * What may be read. A config names files as it likes; only those are opened that lie on this machine (or where the
 * workspace itself lies), and outside of the workspace only those of a workspace that its person trusts.
 */
import { URI, Utils } from "vscode-uri";
import type { FileAccess, Runtime } from "../runtime";
import { joinUri, relativePath } from "./uris";

export interface Reach {
  /** Workspace folders and folders of hub caches. */
  readonly folders: readonly string[];
  /** Documents that a person opened or named: files beside them, on their machine, may be asked for. */
  readonly named: readonly string[];
  /** Whether files outside of the folders are read at all. */
  readonly trusted: boolean;
}

/** A URI whose parts can be relied on: absolute, without steps upwards; undefined for any other. */
function located(uri: string): URI | undefined {
  try {
    const parsed = URI.parse(uri, true);
    return Utils.resolvePath(parsed, parsed.path).path === parsed.path ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** Scheme and authority: a machine, as far as reading goes. */
function machineOf(uri: URI): string {
  return `${uri.scheme.toLowerCase()}://${uri.authority.toLowerCase()}`;
}

const THIS_MACHINE = "file://";

/** Whether a URI is one of the folders or below one. */
function isWithin(uri: string, folders: readonly string[]): boolean {
  return located(uri) !== undefined && folders.some((one) => one === uri || relativePath(one, uri) !== undefined);
}

/** Whether a document lies outside of the workspace folder that a run is in, and of the hub caches. */
export function isOutside(uri: string, workspaceFolder: string | undefined, { hubCaches }: Runtime): boolean {
  return workspaceFolder !== undefined && !isWithin(uri, [workspaceFolder, ...hubCaches]);
}

/** Whether a path of a config is not even looked up, wherever it starts: the workspace is not trusted. */
export function isRefused(path: string, starts: readonly string[], runtime: Runtime): boolean {
  const folders = [...runtime.workspaceFolders, ...runtime.hubCaches];
  return runtime.trusted === false && starts.every((start) => !isWithin(joinUri(start, path), folders));
}

/** Whether a URI may be opened: never another machine (`file://host/share`, `http:`), nothing outside unless trusted. */
export function mayRead(uri: string, { folders, named, trusted }: Reach): boolean {
  const target = located(uri);
  if (target === undefined) return false;
  if (isWithin(uri, folders)) return true;
  if (!trusted) return false;
  const machine = machineOf(target);
  const own = [...folders, ...named].flatMap((one) => located(one) ?? []).map(machineOf);
  return machine === THIS_MACHINE || own.includes(machine);
}

/**
 * Files as far as they may be read. What may not is as absent as what is not there: nobody learns which of the two.
 * Links that lead out of an untrusted workspace are outside of it.
 */
export function withinReach(files: FileAccess, reach: () => Reach): FileAccess {
  const allowed = async (uri: string): Promise<boolean> => {
    const now = reach();
    if (!mayRead(uri, now)) return false;
    if (now.trusted || files.resolve === undefined) return true;
    const real = await files.resolve(uri);
    const folders = await Promise.all(now.folders.map((folder) => files.resolve?.(folder)));
    return real !== undefined && mayRead(real, { ...now, folders: folders.filter((one) => one !== undefined) });
  };
  return {
    readText: async (uri) => ((await allowed(uri)) ? files.readText(uri) : undefined),
    stat: async (uri) => ((await allowed(uri)) ? files.stat(uri) : undefined),
    list: async (uri) => ((await allowed(uri)) ? files.list(uri) : []),
  };
}
