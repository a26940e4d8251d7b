/** Modules that a script puts in the place of its network's, as its settings carry them. */
import type { ReplacedModule } from "../../terms/replaced-module";
import type { Settings } from "../frameworks/settings";

/** What `module_replacements` says; nothing where no script puts any. */
export function replacementsOf(settings: Settings): readonly ReplacedModule[] {
  const text = settings.string("module_replacements");
  return text === undefined ? [] : (JSON.parse(text) as readonly ReplacedModule[]);
}
