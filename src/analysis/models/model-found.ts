/** What looking for a model by its name or path needs, and what it comes to. */
import type { OwnGraphs } from "../../core/graph/own";
import type { ModelConfig, ModelSource } from "../../core/training/run";
import type { DocumentStore, LoadedDocument } from "../documents/store";
import type { Runtime } from "../runtime";
import type { Catalogue } from "./catalogue";

/** Content of an `adapter_config.json` that a model directory holds. */
export type AdapterConfig = Readonly<Record<string, unknown>>;

export type ModelFound =
  | {
      readonly kind: "found";
      readonly name: string;
      readonly config: ModelConfig;
      readonly source: ModelSource;
      /** Graphs of the framework's own code for it, which are there; absent: transformers' code. */
      readonly code?: string;
      /** Parameters as published, when the catalogue says it. */
      readonly parameters: number | undefined;
      /** What the catalogue says the model is for; undefined for a config of one's own. */
      readonly task: string | undefined;
      readonly document: LoadedDocument | undefined;
      readonly adapter: AdapterConfig | undefined;
      readonly adapterUri: string | undefined;
      /** The graph of a model of somebody's own, and the files that have changed since it was traced. */
      readonly own?: OwnGraphs & { readonly changed: readonly string[] };
      /** The script puts another tower beside its words than it sees with itself. */
      readonly otherTower?: true;
      /** The name was not found as it is: the published model was guessed by it. */
      readonly guessed?: true;
    }
  | {
      readonly kind: "missing";
      readonly name: string;
      readonly local: boolean;
      readonly near: string | undefined;
      /** It was not looked for: it lies outside of a workspace that is not trusted. */
      readonly refused: boolean;
      /** It is a class of the workspace, which nobody has traced. */
      readonly own?: true;
    }
  | {
      readonly kind: "broken";
      readonly name: string;
      readonly uri: string;
      readonly reason: "syntax" | "no-type" | "cyclic" | "no-graph";
    };

export interface ModelSearch {
  readonly store: DocumentStore;
  readonly runtime: Runtime;
  readonly catalogue: Catalogue;
  /** Folders a relative path may start from, most likely first. */
  readonly folders: readonly string[];
  /** Everything that was looked at. */
  readonly dependencies: Set<string>;
  /** Whether a file lies outside of the workspace: there, what is no config of a model is not there. */
  readonly isOutside: (uri: string) => boolean;
  /** Whether a path is not looked up because the workspace is not trusted. */
  readonly isRefused: (path: string) => boolean;
}
