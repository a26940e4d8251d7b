/** What the command line has of the world: its process, and the parts it is made of. */
import type { CreateAnalyzer } from "../analysis/analyzer";
import type { Locale } from "../analysis/messages";
import type { Runtime } from "../analysis/runtime";
import type { ListedDevice, ListedModel } from "./catalogues";
import type { Say } from "./words";

/** The process as the command line sees it. */
export interface Io {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly color: boolean;
  /** Columns of the terminal, which texts are laid out in; undefined: lines are as long as they are. */
  readonly columns?: number;
  /** Absolute path of a directory inside the package. */
  readonly packageDirectory: string;
  readonly version: string;
  /** All of the standard input, as text. */
  readonly stdin?: () => Promise<string>;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** Told how many of how many documents are done, before each. */
  readonly progress?: (done: number, of: number) => void;
}

/** Who is spoken to, and in which language. */
export interface Terminal {
  readonly io: Io;
  readonly say: Say;
  readonly locale: Locale;
}

/** What the command line is made of below itself. */
export interface Parts {
  readonly createAnalyzer: CreateAnalyzer;
  readonly devices: readonly ListedDevice[];
  readonly readModels: (runtime: Runtime) => Promise<readonly ListedModel[]>;
  /** Configs of published models by every spelling of their names. */
  readonly readConfigs: (runtime: Runtime) => Promise<Readonly<Record<string, unknown>>>;
}
