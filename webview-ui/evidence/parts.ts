/** Colours and names of the parts of a run, by their number in a recording's columns. */
import { PARTS } from "../../src/evidence/snapshot/parts";
import type { Words } from "./messages";
import type { EvidenceKey } from "./messages/en";

/** Roles of the theme by part; what a part mostly allocates has that kind's colour. */
const ROLES: Readonly<Record<(typeof PARTS)[number], string>> = {
  load: "--vl-weights",
  data: "--vl-inputs",
  forward: "--vl-activations",
  loss: "--vl-logits",
  backward: "--vl-gradients",
  clip: "--vl-temporaries",
  optimizer: "--vl-optimizer",
  zero: "--vl-buffers",
  evaluation: "--vl-communication",
  generation: "--vl-adapters",
  saving: "--vl-cache",
};

/** Roles in the order of the parts' numbers, and one for what has none. */
export const PART_ROLES: readonly string[] = [...PARTS.map((part) => ROLES[part]), "--vl-context"];

/** Roles that a drawing has besides: what is free, lines, grid. */
const OTHER_ROLES = ["--vl-track", "--vl-text", "--vl-border"];

/** The theme's colours as a canvas understands them, parts first. */
export function coloursOf(root: Element): readonly string[] {
  const probe = document.createElement("span");
  root.append(probe);
  const colours = [...PART_ROLES, ...OTHER_ROLES].map((role) => {
    probe.style.setProperty("color", `var(${role})`);
    return getComputedStyle(probe).color;
  });
  probe.remove();
  return colours;
}

export function partName(part: string | null, t: Words): string {
  const key: EvidenceKey =
    part !== null && (PARTS as readonly string[]).includes(part) ? (`part.${part}` as EvidenceKey) : "part.none";
  return t(key);
}

export function partNumberName(number: number, t: Words): string {
  return partName(PARTS[number] ?? null, t);
}
