/** `vram-lens devices` and `vram-lens models`: what can be named instead of measured or spelled out. */

export interface ListedDevice {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly group: string;
  readonly memoryBytes: number;
}

export interface ListedModel {
  readonly name: string;
  readonly family: string;
  readonly parameters: number | null;
}

/** A list as the two formats print it. */
export interface Listing {
  readonly json: unknown;
  readonly text: string;
}

/** Columns padded to their widest cell; the last one stays ragged. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd((widths[i] ?? 0) + 2)))
        .join("")
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}

/** The GPUs that `--device`, pins and settings know. */
export function deviceList(devices: readonly ListedDevice[]): Listing {
  return {
    json: devices.map(({ name, aliases, group, memoryBytes }) => ({ name, aliases, group, memoryBytes })),
    text: table(
      devices.map((one) => [
        one.name,
        `${(one.memoryBytes / 2 ** 30).toFixed(1)} GiB`,
        one.group,
        one.aliases.join(", "),
      ]),
    ),
  };
}

/** `1.2 B` for 1 235 814 400 parameters. */
function billions(parameters: number): string {
  return parameters >= 1e9 ? `${(parameters / 1e9).toFixed(1)} B` : `${Math.round(parameters / 1e6)} M`;
}

/** The models whose dimensions are known by name. */
export function modelList(models: readonly ListedModel[]): Listing {
  return {
    json: models.map(({ name, family, parameters }) => ({ name, family, parameters })),
    text: table(models.map((one) => [one.name, one.parameters === null ? "" : billions(one.parameters), one.family])),
  };
}
