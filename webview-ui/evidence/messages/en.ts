/** English messages of the page of what really happened. */
export const en = {
  "oom.heading": "Out of memory",
  "oom.none": "Nothing in this text says that memory ran out.",
  "oom.card": "The card",
  "oom.why": "Why",
  "oom.tensor": "Which tensor",
  "oom.estimate": "By the estimate",
  "oom.avoid": "What would have avoided it",
  "oom.message": "The message",
  "oom.at": "In {file}:{line}",
  "oom.config": "Compared with {file}",
  apply: "Apply",
  preview: "Preview",
} as const;

export type EvidenceKey = keyof typeof en;
export type EvidenceTable = Readonly<Record<EvidenceKey, string>>;
