/** Versions of libraries that a run's folders pin or its commands install, and those in force. */
import type { SettingName } from "../../terms/settings";
import type { DocumentStore, LoadedDocument } from "../documents/store";
import { joinUri } from "../documents/uris";
import type { Framework } from "../frameworks/framework";
import type { FrameworkLibrary } from "../frameworks/framework-versions";
import type { Setting, Settings } from "../frameworks/settings";
import {
  LIBRARIES,
  type Library,
  NEWEST,
  type PinnedVersion,
  pinnedVersions,
  required,
  type Versions,
} from "../frameworks/versions";

/** Files that pin versions, the most exact first. */
const VERSION_FILES: readonly RegExp[] = [
  /^(?:uv|poetry|pdm)\.lock$|^pylock(?:\.[\w-]+)?\.toml$/,
  /^requirements\.txt$/,
  /^(?:requirements[-_.]\w[\w.-]*|constraints)\.txt$/,
  /^(?:Dockerfile|Containerfile)(?:\.[\w.-]+)?$|^[\w.-]+\.[Dd]ockerfile$/,
  /^(?:pyproject|pixi)\.toml$|^Pipfile$/,
  /^setup\.(?:py|cfg)$/,
  /^(?:environment|conda|env)(?:[-_.]\w[\w.-]*)?\.ya?ml$/,
];

/** Programs whose command `install` puts packages into the environment. */
const INSTALLERS: ReadonlySet<string> = new Set(["pip", "pip3", "uv", "conda", "mamba", "micromamba"]);

/** Where a script's own metadata for its runner begins and ends (PEP 723); it stands in comments, at the top. */
const METADATA = ["\n# /// script", "\n# ///"] as const;
const METADATA_WITHIN = 20_000;

/** Versions that a document's own commands install (`!pip install transformers==4.48.3` in a notebook's cell), the last first. */
function installedIn(document: LoadedDocument): readonly PinnedVersion[] {
  const installed = (document.config?.parsed.shell?.commands ?? []).flatMap(({ words }) => {
    const at = words.findIndex((word) => word.text === "install");
    const installer = words.slice(0, Math.max(0, at)).findLast((word) => INSTALLERS.has(word.text));
    if (installer === undefined) return [];
    const isConda = /conda|mamba/.test(installer.text);
    return words.slice(at + 1).flatMap(({ text, node: { start, end } }) => {
      const found = pinnedVersions(isConda ? `- ${text}` : text);
      return found.map((pinned) => ({ ...pinned, start, end }));
    });
  });
  return [...installed.reverse(), ...metadataVersions(document)];
}

/** Versions that a Python file states for its runner. */
function metadataVersions({ config, text }: LoadedDocument): readonly PinnedVersion[] {
  if (config?.parsed.python === undefined) return [];
  const head = `\n${text.slice(0, METADATA_WITHIN)}`;
  const start = head.indexOf(METADATA[0]);
  const end = head.indexOf(METADATA[1], start + METADATA[0].length);
  if (start < 0 || end < 0) return [];
  const lines = head.slice(0, end).replace(/^#/gm, " ");
  return pinnedVersions(lines.slice(start)).map((pinned) => ({
    ...pinned,
    start: pinned.start + start - 1,
    end: pinned.end + start - 1,
  }));
}

const versionsOf = new WeakMap<LoadedDocument, readonly PinnedVersion[]>();

/** Versions a document pins, found once: lock files are long. */
function versionsIn(document: LoadedDocument): readonly PinnedVersion[] {
  let found = versionsOf.get(document);
  if (found === undefined) {
    found = pinnedVersions(document.text);
    versionsOf.set(document, found);
  }
  return found;
}

/** Where versions are looked for. */
interface Places {
  /** The config and the script that starts it: what they install themselves is nearer than any file of requirements. */
  readonly own: readonly LoadedDocument[];
  readonly folders: readonly string[];
  readonly store: DocumentStore;
  readonly dependencies: Set<string>;
}

/** Versions that the run's own commands install, or that are pinned next to the config or above it; the nearest wins. */
export async function libraryPins({ own, folders, store, dependencies }: Places): Promise<Setting[]> {
  const settings = new Map<string, Setting>();
  const add = (uri: string, found: readonly PinnedVersion[]): void => {
    for (const { library, version, start, end } of found) {
      const name: SettingName = `library.${library}`;
      const span = { start, end };
      if (!settings.has(name))
        settings.set(name, {
          ...{ name, value: version, from: "linked" as const, key: library },
          place: { uri, keySpan: span, valueSpan: span },
        });
    }
  };
  for (const document of own) add(document.uri, installedIn(document));
  for (const folder of folders) {
    const names = (await store.list(folder)).filter(({ type }) => type === "file").map(({ name }) => name);
    for (const file of VERSION_FILES.flatMap((pattern) => names.filter((name) => pattern.test(name)).toSorted())) {
      const uri = joinUri(folder, file);
      dependencies.add(uri);
      const document = await store.load(uri);
      add(uri, document === undefined ? [] : versionsIn(document));
    }
  }
  return [...settings.values()];
}

/**
 * The versions in force: pinned ones, else those that a pinned framework requires or the newest release of the one that reads the
 * documents, else the newest.
 */
export function librariesOf(settings: Settings, { package: reader }: Framework): Versions {
  const pinned = (library: Library) => settings.string(`library.${library}`);
  const read = (library: FrameworkLibrary) => pinned(library) ?? (library === reader ? NEWEST[library] : undefined);
  const versions: Record<Library, string> = { ...NEWEST, ...required(read) };
  for (const library of LIBRARIES) versions[library] = pinned(library) ?? versions[library];
  return versions;
}
