/**
 * The module that holds a model's body is named by its family, and by some heads of their own accord: `model` in
 * LlamaForCausalLM, `transformer` in LlamaForQuestionAnswering (transformers/models/llama/modeling_llama.py,
 * `base_model_prefix`); T5ForConditionalGeneration is its body itself. Stored graphs say `~` for it (`capture/storing/roots.py`), so
 * that alike code is said once.
 */

/** `~` at the head of a path, or of a parameter's name behind `@`. */
const BODY = /(^|@)~(\.|$)/;

/** A stored graph, which says its body's name where that is not the usual one: empty where the model is its body. */
interface Rooted {
  readonly root?: string;
}

/**
 * Puts the names of bodies into the graphs of one file. What graphs of one name share stays one object.
 *
 * @param usual the name where a graph says none
 */
export function bodies(usual: string | undefined): <T extends object>(graph: T) => T {
  const byName = new Map<string, (value: unknown) => unknown>();
  return <T extends object>(graph: T): T => {
    const { root = usual, ...rest } = graph as T & Rooted;
    if (root === undefined) return graph;
    const named = byName.get(root) ?? naming(root);
    byName.set(root, named);
    return named(rest) as T;
  };
}

/** A value with the name in its place; one that has none stays the object it is. */
function naming(root: string): (value: unknown) => unknown {
  const known = new Map<object, unknown>();
  const inPlace = root === "" ? "$1" : `$1${root}$2`;
  const named = (value: unknown): unknown => {
    if (typeof value === "string") return value.includes("~") ? value.replace(BODY, inPlace) : value;
    if (typeof value !== "object" || value === null) return value;
    const made = known.get(value) ?? parts(value);
    known.set(value, made);
    return made;
  };
  const parts = (value: object): unknown => {
    if (Array.isArray(value)) {
      const items = value.map(named);
      return items.some((item, k) => item !== value[k]) ? items : value;
    }
    const entries = Object.entries(value).map(([key, item]): [string, unknown, boolean] => {
      const made = named(item);
      return [key, made, made !== item];
    });
    return entries.some(([, , changed]) => changed)
      ? Object.fromEntries(entries.map(([key, item]) => [key, item]))
      : value;
  };
  return named;
}
