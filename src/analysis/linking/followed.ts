/** Links from a run's documents to other files, and what is noted while they are followed. */
import type { DocumentLink } from "../../formats/types";
import type { Span } from "../../syntax/tree";
import type { DocumentStore } from "../documents/store";
import type { Problem } from "../problems";

/** A link of the document to another file, found. */
export interface FollowedLink {
  readonly kind: DocumentLink["kind"];
  readonly uri: string;
  readonly from: string;
  readonly span: Span;
}

/** Where files are looked for, and what comes of it. */
export interface Following {
  readonly store: DocumentStore;
  readonly dependencies: Set<string>;
  readonly problems: Problem[];
  readonly links: FollowedLink[];
  readonly isOutside: (uri: string) => boolean;
  readonly isRefused: (path: string) => boolean;
}
