/** What functions return that people copy from one script to the next. */

/** A function that gathers the names of every linear layer, as peft's `all-linear` chooses them (QLoRA, LLaVA). */
const GATHERS_LINEAR = /\.named_modules\(\)[\s\S]*isinstance\([\s\S]*(?:\.append|\.add)\(/;

/** The value that a function's text stands for, when it is one of these. */
export function knownResult(body: string): string | undefined {
  return GATHERS_LINEAR.test(body) && /\bLinear/.test(body) ? "all-linear" : undefined;
}
