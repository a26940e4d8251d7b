/** The catalogue as a Markdown page, for `docs/devices.md`. */
import { table } from "../../terms/table";
import { DEVICE_GROUPS, DEVICES, type Device, usableBytes } from "./devices";
import { INSTANCE_TYPES } from "./instances";

const GIB = 2 ** 30;

const HEADINGS: Readonly<Record<string, string>> = table({
  "data-centre": "Data centre",
  workstation: "Workstation",
  consumer: "Consumer",
  laptop: "Laptop",
  apple: "Apple silicon",
});

function row(device: Device): string {
  const gib = (bytes: number) => (bytes / GIB).toFixed(1);
  const rate = device.peak === null ? "–" : String(Math.round((device.peak.bfloat16 ?? device.peak.float16) / 1e12));
  const mig = device.mig.map((profile) => profile.name).join(", ");
  const cells = [
    device.name,
    gib(device.memoryBytes),
    gib(usableBytes(device)),
    device.runtimeBytes === null ? "rule" : "recorded",
    String(Math.round(device.bandwidth / 1e9)),
    rate,
    device.architecture,
    mig === "" ? "" : mig,
  ];
  return `| ${cells.join(" | ")} |`;
}

/** The whole page. */
export function devicesPage(): string {
  const sections = DEVICE_GROUPS.filter((group) => HEADINGS[group] !== undefined).map((group) =>
    [
      `## ${HEADINGS[group]}`,
      "",
      "| name | memory, GiB | usable, GiB | usable from | GB/s | 16-bit TFLOP/s | generation | MIG slices |",
      "|---|---|---|---|---|---|---|---|",
      ...DEVICES.filter((device) => device.group === group).map(row),
    ].join("\n"),
  );
  const machines = INSTANCE_TYPES.map(({ name, device, count }) => `| ${name} | ${count} × ${device} |`);
  return `${[
    "# Devices",
    "",
    "Generated from `src/core/hardware` (`UPDATE_DOCS=1 npx mocha test/core/hardware`).",
    "",
    "Any of these names works in `device`, `--device` and `# vramlens: gpu=…`, and so do short forms (`4090`, `A100-80GB`,",
    "`H100 MIG 3g.40gb`), counts (`8xH100`), plain sizes (`24GB`) and the machine types at the end.",
    "",
    "*Memory* is the total that the driver reports. *Usable* is what a process can have, its CUDA context included:",
    "*recorded* is the total that PyTorch printed on such a card (or its sibling with the same memory), *rule* is the driver's total less 0.2 GiB and 1.5 %",
    "(at most 0.65 GiB). Apple silicon shares its memory: two thirds of it up to 36 GB, three quarters above.",
    "",
    sections.join("\n\n"),
    "",
    "## Cloud machine types",
    "",
    "| type | cards |",
    "|---|---|",
    ...machines,
  ].join("\n")}\n`;
}
