/**
 * Watching the files a run depends on that lie outside the workspace (`../model/config.json`): one watcher per folder,
 * added as such folders become known. Files of the workspace are watched by one pattern, and hub caches never change.
 */
import { type Connection, DidChangeWatchedFilesNotification } from "vscode-languageserver";
import { describeError } from "./safely";

/** Most folders that are watched; a config that refers to more is not worth the handles. */
const MOST_FOLDERS = 32;

export class OutsideWatcher {
  private readonly watched = new Set<string>();

  constructor(
    private readonly connection: Connection,
    private readonly isInside: (uri: string) => boolean,
  ) {}

  /** Makes sure that changes of the files are told. */
  async add(uris: readonly string[]): Promise<void> {
    const folders = new Set(uris.filter((uri) => !this.isInside(uri)).map((uri) => uri.slice(0, uri.lastIndexOf("/"))));
    for (const folder of folders) {
      if (this.watched.has(folder) || this.watched.size >= MOST_FOLDERS) continue;
      this.watched.add(folder);
      try {
        await this.connection.client.register(DidChangeWatchedFilesNotification.type, {
          watchers: [{ globPattern: { baseUri: folder, pattern: "*" } }],
        });
      } catch (error) {
        this.connection.console.warn(`${folder} is not watched: ${describeError(error)}`);
      }
    }
  }
}
