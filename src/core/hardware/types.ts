/** What the catalogue knows about one accelerator. Sizes are bytes, rates are bytes or FLOP per second. */

export type Vendor = "nvidia" | "amd" | "apple" | "intel" | "generic";

/** Groups of the device picker, in the order it shows them. */
export const DEVICE_GROUPS = ["data-centre", "workstation", "consumer", "laptop", "apple", "size"] as const;
export type DeviceGroup = (typeof DEVICE_GROUPS)[number];

/** Highest dense (not sparse) rates with float32 accumulation, in FLOP/s; null where the unit does not exist. */
export interface PeakRates {
  readonly float32: number;
  /** float32 matrix products on TF32 units, used by PyTorch only when allowed. */
  readonly tfloat32: number | null;
  readonly float16: number;
  /** null: no bfloat16 units; PyTorch then computes through float32. */
  readonly bfloat16: number | null;
  readonly float8: number | null;
}

/** A slice of a card (NVIDIA multi-instance GPU). */
export interface MigProfile {
  /** As `nvidia-smi mig -lgip` prints it: `3g.40gb`. */
  readonly name: string;
  readonly memoryBytes: number;
  /** Share of the card's compute. */
  readonly compute: number;
}

export interface Device {
  /** As `nvidia-smi -L` and `torch.cuda.get_device_name()` print it. */
  readonly name: string;
  readonly aliases: readonly string[];
  readonly vendor: Vendor;
  readonly group: DeviceGroup;
  /** Key of the tables of contexts and achieved rates: `turing`, `ampere`, `hopper`, `cdna3`, `apple`, … */
  readonly architecture: string;
  /** Total that the driver reports. */
  readonly memoryBytes: number;
  /** Total that the runtime hands out (`total_memory` of PyTorch), where it was recorded; else null. */
  readonly runtimeBytes: number | null;
  /** Memory is shared with the host: the system keeps a part of it. */
  readonly unified: boolean;
  readonly bandwidth: number;
  /** null where nothing reliable was published. */
  readonly peak: PeakRates | null;
  /** To another card of the same machine, per direction (NVLink, Infinity Fabric, else the host link). */
  readonly peerBandwidth: number;
  /** To host memory, per direction. */
  readonly hostBandwidth: number;
  readonly mig: readonly MigProfile[];
}
