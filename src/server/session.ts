/** What the server knows of its client from `initialize` on, and what it works with since. */
import type { AnalysisOptions } from "../analysis/options";
import type { FileAccess } from "../analysis/runtime";
import type { Analyses } from "./analyses";
import type { AnalysisProgram } from "./apart/errands";
import type { Client } from "./client";
import { NO_FILES } from "./files";
import { CLIENT_COMMANDS, type ThemeKind } from "./protocol";
import type { Settings, SettingsCache } from "./settings";

export class Session {
  client: Client | undefined;
  analyzer: AnalysisProgram | undefined;
  analyses: Analyses | undefined;
  /** What the analysis reads. */
  files: FileAccess = NO_FILES;
  workspaceFolders: readonly string[] = [];
  /** Whether the person trusts the workspace: files outside of it are read only then. */
  trusted = true;
  /** Kind of theme that pictures in hovers are drawn for; undefined: the client shows none. */
  pictures: ThemeKind | undefined;

  constructor(readonly settings: SettingsCache) {}

  get known(): Client {
    if (this.client === undefined) throw new Error("a request came before initialize");
    return this.client;
  }

  /** Commands of the client that are offered: none that runs code where the workspace is not trusted. */
  get commands(): ReadonlySet<string> {
    const { commands } = this.known;
    return this.trusted ? commands : new Set([...commands].filter((id) => id !== CLIENT_COMMANDS.traceModel));
  }

  options(settings: Settings): AnalysisOptions {
    return {
      defaultDevice: settings.device,
      deviceCount: settings.deviceCount,
      severity: settings.severity,
      reserve: settings.reserve,
      allow: settings.allow,
      learns: settings.learns,
      locale: this.known.locale,
    };
  }

  /** Settings of a document as the analysis takes them. */
  async optionsFor(uri: string): Promise<AnalysisOptions> {
    return this.options(await this.settings.get(uri));
  }
}
