/** Files that look like configs and cannot be read: a search through a folder names them instead of leaving them out. */
import { FORMATS } from "../../formats";
import { OTHER_TRAINING_ARGUMENTS } from "../../formats/hf-training-arguments/keys";
import { lazily } from "../../terms/lazily";
import type { Discovery } from "../analyzer";
import { type Locale, text } from "../messages";
import type { LoadedDocument } from "./store";

/** Parts of dotted keys that say of themselves that they are a training setting (`gradient_accumulation_steps`). */
const telling = lazily(
  (): ReadonlySet<string> =>
    new Set(
      FORMATS.flatMap(({ keys }) =>
        keys.flatMap(({ key, aliases }) =>
          [key, ...(aliases ?? [])].map((path) => path.slice(path.lastIndexOf(".") + 1)),
        ),
      ).filter((word) => word.includes("_")),
    ),
);

/** Names that stand beside those in many a config (`output_dir`), and in other files, too. */
const BESIDE: ReadonlySet<string> = new Set(OTHER_TRAINING_ARGUMENTS);

/** Different words of a training that make a file a config somebody meant; one of them tells on its own. */
const LEAST_WORDS = 2;

/** How much of a text is looked through. UTF-16 units. */
const LOOKED_THROUGH = 32 * 1024;

/** Code is no data: a script that does not parse is its interpreter's matter. */
const DATA = new Set(["json", "yaml", "toml"]);

function looksLikeConfig(text: string): boolean {
  const found = new Set<string>();
  for (const [word] of text.slice(0, LOOKED_THROUGH).matchAll(/\w+/g)) {
    if (telling().has(word) || BESIDE.has(word)) found.add(word);
    if (found.size >= LEAST_WORDS && [...found].some((one) => telling().has(one))) return true;
  }
  return false;
}

/** Why a document that looks like a config was left out; undefined when it was not. */
export function whySkipped(document: LoadedDocument, locale: Locale): Discovery["skipped"][number] | undefined {
  if (document.recognised !== undefined || !DATA.has(document.config?.languageId ?? "")) return undefined;
  const [problem] = document.config?.parsed.problems ?? [];
  if (problem === undefined || !looksLikeConfig(document.text)) return undefined;
  const range = document.lines.range(problem);
  return { uri: document.uri, message: text(problem.message, locale), range };
}
