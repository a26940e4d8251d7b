/** Versions of libraries that a run's folders pin, and those in force. */
import type { SettingName } from "../terms/settings";
import type { Framework } from "./frameworks";
import type { Setting, Settings } from "./settings";
import type { DocumentStore, LoadedDocument } from "./store";
import { joinUri } from "./uris";
import {
  LIBRARIES,
  type Library,
  type PinnedVersion,
  pinnedVersions,
  required,
  standardLibraries,
  type Versions,
} from "./versions";

/** Files that pin versions, the most exact first. */
const VERSION_FILES: readonly RegExp[] = [
  /^(?:uv|poetry|pdm)\.lock$|^pylock(?:\.[\w-]+)?\.toml$/,
  /^requirements\.txt$/,
  /^(?:requirements[-_.]\w[\w.-]*|constraints)\.txt$/,
  /^pyproject\.toml$/,
  /^setup\.(?:py|cfg)$/,
  /^environment\.ya?ml$/,
];

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

/** Versions pinned next to the config or above it; the nearest file that pins a library wins. */
export async function libraryPins(
  folders: readonly string[],
  store: DocumentStore,
  dependencies: Set<string>,
): Promise<Setting[]> {
  const settings = new Map<string, Setting>();
  for (const folder of folders) {
    const names = (await store.list(folder)).filter(({ type }) => type === "file").map(({ name }) => name);
    for (const file of VERSION_FILES.flatMap((pattern) => names.filter((name) => pattern.test(name)).toSorted())) {
      const uri = joinUri(folder, file);
      dependencies.add(uri);
      const document = await store.load(uri);
      for (const pinned of document === undefined ? [] : versionsIn(document)) {
        const name: SettingName = `library.${pinned.library}`;
        if (settings.has(name)) continue;
        const span = { start: pinned.start, end: pinned.end };
        settings.set(name, {
          name,
          value: pinned.version,
          from: "linked",
          key: pinned.library,
          place: { uri, keySpan: span, valueSpan: span },
        });
      }
    }
  }
  return [...settings.values()];
}

/** The versions in force: pinned ones, else those a pinned framework requires, else the framework's own or the newest. */
export function librariesOf(settings: Settings, framework: Framework): Versions {
  const pinned = (library: Library) => settings.string(`library.${library}`);
  const versions: Record<Library, string> = { ...standardLibraries(framework), ...required(pinned) };
  for (const library of LIBRARIES) versions[library] = pinned(library) ?? versions[library];
  return versions;
}
