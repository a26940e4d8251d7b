/** What functions return: ones that people copy from one script to the next, and libraries' that ask for the card. */

/** A function that gathers the names of every linear layer, as peft's `all-linear` chooses them (QLoRA, LLaVA). */
const GATHERS_LINEAR = [/\.named_modules\(\)/, /isinstance\(/, /\.(?:append|add)\(/];

/** Whether the patterns are found one after the other. */
function inOrder(text: string, patterns: readonly RegExp[]): boolean {
  let rest = text;
  return patterns.every((pattern) => {
    const match = pattern.exec(rest);
    if (match !== null) rest = rest.slice(match.index + match[0].length);
    return match !== null;
  });
}

/** The value that a function's text stands for, when it is one of these. */
export function knownResult(body: string): string | undefined {
  return inOrder(body, GATHERS_LINEAR) && /\bLinear/.test(body) ? "all-linear" : undefined;
}

/** What a tokenizer would take at most, to which scripts bound the length that they state (transformers/examples/pytorch, run_clm.py). */
export function onlyCuts(raw: string): boolean {
  return /\.model_max_length$/.test(raw);
}

/** What a library answers on the cards that training is written for: CUDA, Ampere or newer. */
const ANSWERS: readonly (readonly [RegExp, boolean | readonly number[]])[] = [
  [/(?:^|\.)cuda\.is_available$/, true],
  [/(?:^|\.)is_(?:bf16|bfloat16)_supported$/, true],
  [/(?:^|\.)is_torch_(?:bf16_gpu_)?available$/, true],
  [/(?:^|\.)cuda\.get_device_capability$/, [8, 0]],
];

/** The answer of a call by its name; undefined: it is not known. */
export function knownAnswer(callee: string): boolean | readonly number[] | undefined {
  return ANSWERS.find(([pattern]) => pattern.test(callee))?.[1];
}
