/** Arguments in Python that the called class refuses. */

import { renaming } from "../../../formats/fix";
import { stoppingArguments } from "../../../formats/hf-scripts/accepted";
import { say } from "../../../words/message";
import { type Facts, type Hit, type Rule, rule } from "../rule";

/** Libraries whose classes' arguments are known by release. */
const LIBRARIES = ["transformers", "trl", "peft"] as const;

/** Releases that files or pins say. */
function statedVersions(facts: Facts): Readonly<Record<string, string>> {
  return Object.fromEntries(
    LIBRARIES.flatMap((library) => {
      const version = facts.pinned(library);
      return version === undefined ? [] : [[library, version]];
    }),
  );
}

export const ARGUMENT_RULES: readonly Rule[] = [
  // Source: dataclasses and constructors without `**kwargs` raise TypeError at a keyword they do not have.
  rule("refused-argument", "error", (facts) => {
    const { config, uri } = facts.inputs.main;
    if (config?.parsed.python === undefined) return [];
    return stoppingArguments(config.parsed.python, statedVersions(facts)).map(
      ({ argument, className, library, version, near }): Hit => {
        const { key, keySpan, value } = argument;
        const place = { uri, keySpan, valueSpan: { start: value.start, end: value.end } };
        return {
          at: { key, value: null, from: "document", place },
          args: {
            argument: key,
            called: className,
            release: version === undefined ? say("refused.ever", { library }) : say("refused.in", { library, version }),
          },
          // A release that is newer than what is known may have it.
          severity: version === undefined && near === undefined ? "warning" : "error",
          fixes: near === undefined ? [] : [renaming(keySpan, near)],
        };
      },
    );
  }),
];
