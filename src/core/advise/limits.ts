/** What a plan may use, and whether an estimate keeps to it. */
import type { Estimate } from "../report/estimate";

export interface Limits {
  /** Bytes of the GPU that may be used: usable memory less the reserve. */
  readonly limitBytes: number;
  /** Host memory that one rank may use; default: as much as it likes. */
  readonly hostLimitBytes?: number;
}

/** What a rank keeps in host memory. */
export function hostBytes({ host }: Pick<Estimate, "host">): number {
  return host.pinnedBytes + host.pageableBytes;
}

export function fitsHost(estimate: Pick<Estimate, "host">, { hostLimitBytes }: Limits): boolean {
  return hostBytes(estimate) <= (hostLimitBytes ?? Number.POSITIVE_INFINITY);
}

export function fitsWithin(estimate: Pick<Estimate, "host" | "usedPeakBytes">, limits: Limits): boolean {
  return estimate.usedPeakBytes <= limits.limitBytes && fitsHost(estimate, limits);
}
