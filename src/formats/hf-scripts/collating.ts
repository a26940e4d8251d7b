/** What a collator does to the lengths of batches. Source: transformers/data/data_collator.py (`pad_to_multiple_of`). */
import type { PythonModule } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { at, given, plain } from "./called";
import { trainingLoader } from "./loop";
import { callsBehind, trainingOf } from "./training";

/** What lengths are rounded up to by the collator that the trainer, or the loop's loader, is given. */
export function roundedLengths(python: PythonModule): readonly LocatedSetting[] {
  const { trainer } = trainingOf(python);
  const loader = trainer === undefined ? trainingLoader(python) : undefined;
  const collator = trainer === undefined ? given(loader, "collate_fn") : given(trainer, "data_collator");
  return callsBehind(python, collator).flatMap((call) => {
    const node = given(call, "pad_to_multiple_of");
    const multiple = plain(node);
    return typeof multiple === "number" && multiple >= 1 ? [at("pad_to_multiple_of", call, multiple, node)] : [];
  });
}
