/** Published pipelines by their line: what a checkpoint in one file is taken for, whose name says nothing. */
export const PUBLISHED = {
  sd15: "stable-diffusion-v1-5/stable-diffusion-v1-5",
  sd21: "stabilityai/stable-diffusion-2-1",
  sdxl: "stabilityai/stable-diffusion-xl-base-1.0",
  flux: "black-forest-labs/FLUX.1-dev",
} as const;

export type Line = keyof typeof PUBLISHED;

/** The line that a setting names. */
export function lineNamed(written: unknown): Line | undefined {
  return typeof written === "string" && Object.hasOwn(PUBLISHED, written) ? (written as Line) : undefined;
}
