/**
 * How the YAML loaders of the training world type a plain scalar. Two readings matter: PyYAML (YAML 1.1 with its
 * own float rule: a dot and a signed exponent are needed) and OmegaConf (PyYAML with a friendlier float rule).
 * Sources: PyYAML `resolver.py`, OmegaConf `_utils.get_yaml_loader`.
 */

export type YamlDialect = "pyyaml" | "omegaconf";

const TRUE = /^(?:yes|Yes|YES|true|True|TRUE|on|On|ON)$/;
const FALSE = /^(?:no|No|NO|false|False|FALSE|off|Off|OFF)$/;
const NULL = /^(?:~|null|Null|NULL|)$/;
const INTEGER =
  /^(?:[-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$/;
const SPECIAL = /^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$/;
const FLOAT: Readonly<Record<YamlDialect, RegExp>> = {
  pyyaml:
    /^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*)$/,
  omegaconf:
    /^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*)$/,
};

/** Value of an unquoted YAML scalar as the named loader reads it. */
export function yamlScalar(text: string, dialect: YamlDialect): string | number | boolean | null {
  if (NULL.test(text)) return null;
  if (TRUE.test(text)) return true;
  if (FALSE.test(text)) return false;
  if (INTEGER.test(text)) return integer(text);
  if (FLOAT[dialect].test(text)) return float(text);
  if (SPECIAL.test(text)) return /nan/i.test(text) ? Number.NaN : text.startsWith("-") ? -Infinity : Infinity;
  return text;
}

function integer(text: string): number {
  const plain = text.replaceAll("_", "");
  const sign = plain.startsWith("-") ? -1 : 1;
  const digits = plain.replace(/^[-+]/, "");
  if (digits.includes(":")) return sign * sexagesimal(digits);
  if (/^0[xb]/.test(digits)) return sign * Number(digits);
  if (/^0[0-7]+$/.test(digits)) return sign * Number.parseInt(digits, 8);
  return sign * Number(digits);
}

function float(text: string): number {
  const plain = text.replaceAll("_", "");
  if (!plain.includes(":")) return Number(plain);
  const sign = plain.startsWith("-") ? -1 : 1;
  return sign * sexagesimal(plain.replace(/^[-+]/, ""));
}

function sexagesimal(digits: string): number {
  return digits.split(":").reduce((total, part) => total * 60 + Number(part), 0);
}
