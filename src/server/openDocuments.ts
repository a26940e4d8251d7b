/**
 * The open documents, found by any spelling of their URI, and whether they are worth analysing.
 *
 * Editors spell one URI in several ways (`file:///C:/a`, `file:///c%3A/a`); the analysis uses one. Everything that
 * crosses over between the two goes through here.
 */
import type { TextDocuments } from "vscode-languageserver";
import type { TextDocument } from "vscode-languageserver-textdocument";
import { URI } from "vscode-uri";
import type { ServedAnalyzer } from "../analysis/analyzer";
import { normalise } from "../analysis/documents/uris";
import type { OpenText } from "./files";

export { normalise };

/** Documents that define no run but belong to one, by name and by what they must contain. */
const PARTS: readonly { readonly name: RegExp; readonly content: RegExp }[] = [
  { name: /\/\.vramlens\.ya?ml$/i, content: /^/ },
  { name: /\/config\.json$/i, content: /"(model_type|architectures)"/ },
  { name: /\/adapter_config\.json$/i, content: /"peft_type"/ },
  { name: /\.(sh|bash|slurm|sbatch)$|\/Makefile$/i, content: /\b(deepspeed|accelerate|torchrun|python3?|srun)\b/ },
  // A Hydra config may say nothing itself: its groups do.
  { name: /\.ya?ml$/i, content: /^defaults\s*:/m },
  // Few keys do not say whose config it is: the command that names it does.
  { name: /\.ya?ml$/i, content: /^(?:base_model|checkpoint_dir|model_name_or_path|model_name|model)\s*:/m },
];

/** Documents that are open in another form than text: notebooks, by their own URI. */
interface OtherDocuments {
  get(uri: string): (OpenText & { readonly uri: string }) | undefined;
  uris(): readonly string[];
}

export class OpenDocuments {
  /** LSP spelling by normalised URI. */
  private readonly spelling = new Map<string, string>();
  /** By the editor's spelling. */
  private readonly relevance = new Map<string, { readonly version: number; readonly isRelevant: boolean }>();

  constructor(
    private readonly documents: TextDocuments<TextDocument>,
    private readonly others: OtherDocuments,
  ) {
    documents.onDidOpen(({ document }) => this.spelling.set(normalise(document.uri), document.uri));
    documents.onDidClose(({ document }) => {
      this.spelling.delete(normalise(document.uri));
      this.relevance.delete(document.uri);
    });
  }

  /** The open document at a URI in any spelling. */
  get(uri: string): (OpenText & { readonly uri: string }) | undefined {
    return (
      this.documents.get(uri) ?? this.documents.get(this.spelling.get(normalise(uri)) ?? "") ?? this.others.get(uri)
    );
  }

  /** Looks at a document afresh: what it is now is no config, and not because it is broken. */
  forget(uri: string): void {
    this.relevance.delete(this.get(uri)?.uri ?? uri);
  }

  /** URIs as the editor spells them. */
  uris(): readonly string[] {
    return [...this.documents.keys(), ...this.others.uris()];
  }

  /**
   * Whether an open document is a training config or may be a part of a run. A cheap look, kept by version. Once it
   * was one it stays one, since a half-typed config cannot be told from any other broken file.
   */
  async isRelevant(uri: string, analyzer: ServedAnalyzer): Promise<boolean> {
    const document = this.get(uri);
    if (document === undefined) return false;
    const known = this.relevance.get(document.uri);
    if (known?.version === document.version || known?.isRelevant === true) return known.isRelevant;
    const text = document.getText();
    const { version } = document;
    const path = pathOf(document.uri);
    const isRelevant =
      PARTS.some(({ name, content }) => name.test(path) && content.test(text)) ||
      (await analyzer.recognise(normalise(document.uri), text)) !== null;
    // It may have gone on meanwhile.
    if (this.get(uri)?.version === version) this.relevance.set(document.uri, { version, isRelevant });
    return isRelevant;
  }
}

function pathOf(uri: string): string {
  try {
    return URI.parse(uri).path;
  } catch {
    return uri;
  }
}
