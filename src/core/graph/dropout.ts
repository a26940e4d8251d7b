/** How the attention of a family knows its rate of dropout. */

/**
 * Families whose attention reads its rate of dropout from a module (`self.attn_dropout.p`), which `disable_dropout_in_model`
 * finds. Source: transformers/models/<family>/modeling_<family>.py; the others read a number.
 */
const ATTENTION_DROPOUT_MODULES: ReadonlySet<string> = new Set([
  "albert",
  "bert",
  "camembert",
  "data2vec-text",
  "distilbert",
  "electra",
  "ernie",
  "gpt2",
  "roberta",
  "roberta-prelayernorm",
  "roc_bert",
  "xlm-roberta",
  "xlm-roberta-xl",
  "xmod",
]);

/** Whether a family's attention reads its rate from a module. */
export function readsDropoutFromModule(family: string): boolean {
  return ATTENTION_DROPOUT_MODULES.has(family);
}
