/** Numbers as the page shows them: GiB with one decimal, a true minus sign, a no-break space before the unit. */

const GIB = 2 ** 30;
const NBSP = "\u00a0";

const formats = new Map<string, Intl.NumberFormat>();

function numberFormat(locale: string, minimum: number, maximum: number): Intl.NumberFormat {
  const key = `${locale} ${minimum} ${maximum}`;
  let format = formats.get(key);
  if (format === undefined) {
    format = new Intl.NumberFormat(locale, { minimumFractionDigits: minimum, maximumFractionDigits: maximum });
    formats.set(key, format);
  }
  return format;
}

/** Language tag for `Intl`, from the locale the host sends. */
export function languageTag(locale: string): "en" | "zh-CN" {
  return locale.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
}

/** Bytes as GiB without the unit: `41.2`; what is there but rounds to nothing is `< 0.1`. */
export function gib(bytes: number, locale = "en"): string {
  const size = Math.abs(bytes) / GIB;
  if (bytes !== 0 && size < 0.05) return `<${NBSP}0.1`;
  const text = numberFormat(languageTag(locale), 1, 1).format(size);
  return bytes < 0 ? `\u2212${text}` : text;
}

/** Bytes as GiB with the unit: `41.2 GiB`. */
export function gibUnit(bytes: number, locale = "en"): string {
  return `${gib(bytes, locale)}${NBSP}GiB`;
}

/** A difference in GiB with its sign: `+3.3`, `−20.1`, `±0.0` when it rounds to nothing. */
export function deltaGib(bytes: number, locale = "en"): string {
  const text = numberFormat(languageTag(locale), 1, 1).format(Math.abs(bytes) / GIB);
  if (Math.abs(bytes) / GIB < 0.05) return `±${text}`;
  return `${bytes < 0 ? "\u2212" : "+"}${text}`;
}

/** A share from 0 to 1 in whole percent: `61 %`; `< 1 %` for what is there but small. */
export function percent(share: number, locale = "en"): string {
  const space = languageTag(locale) === "en" ? NBSP : "";
  if (share > 0 && share < 0.005) return `<${NBSP}1${space}%`;
  return `${numberFormat(languageTag(locale), 0, 0).format(Math.round(share * 100))}${space}%`;
}

/** A signed percentage of a factor around 1: 1.3 is `+30 %`, 0.94 is `−6 %`, 1.002 is `±0 %`. */
export function factorPercent(factor: number, locale = "en"): string {
  const points = Math.round((factor - 1) * 100);
  const sign = points > 0 ? "+" : points < 0 ? "\u2212" : "±";
  return `${sign}${percent(Math.abs(points) / 100, locale)}`;
}

/** A count of parameters: `1.24 B`, `410 M`. */
export function parameters(count: number, locale = "en"): string {
  const tag = languageTag(locale);
  const scales: readonly (readonly [number, string])[] = [
    [1e12, "T"],
    [1e9, "B"],
    [1e6, "M"],
    [1e3, "K"],
  ];
  for (const [size, suffix] of scales) {
    if (count >= size) {
      const value = count / size;
      return `${numberFormat(tag, 0, value < 10 ? 2 : value < 100 ? 1 : 0).format(value)}${NBSP}${suffix}`;
    }
  }
  return numberFormat(tag, 0, 0).format(count);
}

/** Whole numbers with group separators. */
export function integer(value: number, locale = "en"): string {
  return numberFormat(languageTag(locale), 0, 0).format(value);
}

/** Device name without the maker, as people say it: `NVIDIA GeForce RTX 4090` is `RTX 4090`. */
export function shortDevice(name: string): string {
  return name.replace(/^(NVIDIA|AMD|Intel)\s+(GeForce\s+|Radeon\s+|Instinct\s+)?/i, "");
}

/** A sentence of its own begins with a capital; a name in code stays as it is spelled. */
export function capital(sentence: string): string {
  return `${sentence.charAt(0).toLocaleUpperCase()}${sentence.slice(1)}`;
}

/** Last part of a URI's path, decoded. */
export function fileName(uri: string): string {
  const path = uri.split(/[?#]/, 1)[0] ?? "";
  const last = path.slice(path.lastIndexOf("/") + 1);
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
