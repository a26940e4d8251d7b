/** Documents of published runs. */

type Value =
  | string
  | number
  | boolean
  | null
  | readonly string[]
  | readonly number[]
  | { readonly [key: string]: Value };
export type Settings = Readonly<Record<string, Value>>;

function yaml(settings: Settings, indent = ""): string {
  return Object.entries(settings)
    .map(([key, value]) => `${indent}${key}: ${JSON.stringify(value)}\n`)
    .join("");
}

/** A config with the pins of what it does not say. */
export function withPins(name: string, text: string, pins: Settings): Readonly<Record<string, string>> {
  return { [name]: text, ".vramlens.yaml": `runs:\n  - match: ${JSON.stringify(name)}\n${yaml(pins, "    ")}` };
}

/** TrainingArguments in a file, and pins for what the script's own code does. */
export function trainingArguments(settings: Settings, pins: Settings): Readonly<Record<string, string>> {
  return withPins("train.yaml", yaml({ output_dir: "out", learning_rate: 1e-4, ...settings }), pins);
}

/** Any YAML config. */
export function yamlConfig(settings: Settings, pins: Settings): Readonly<Record<string, string>> {
  return withPins("train.yaml", yaml(settings), pins);
}

/** A launch script. */
export function script(command: string, pins: Settings): Readonly<Record<string, string>> {
  return withPins("train.sh", `${command}\n`, pins);
}
