/** What a collator does to the lengths of batches. Source: transformers/data/data_collator.py (`pad_to_multiple_of`). */
import type { PythonModule } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { at, keyword, plain } from "./called";
import { trainingLoader } from "./loop";
import { callsBehind, trainingOf } from "./training";

/** What lengths are rounded up to by the collator that the trainer, or the loop's loader, is given. */
export function roundedLengths(python: PythonModule): readonly LocatedSetting[] {
  const { trainer } = trainingOf(python);
  const loader = trainer === undefined ? trainingLoader(python) : undefined;
  const given = trainer === undefined ? loader && keyword(loader, "collate_fn") : keyword(trainer, "data_collator");
  return callsBehind(python, given?.value).flatMap((call) => {
    const node = keyword(call, "pad_to_multiple_of")?.value;
    const multiple = plain(node);
    return typeof multiple === "number" && multiple >= 1 ? [at("pad_to_multiple_of", call, multiple, node)] : [];
  });
}
