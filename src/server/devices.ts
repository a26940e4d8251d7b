/** The device catalogue as a pick list shows it. */
import { DEVICE_GROUPS, DEVICES, type DeviceGroup, findDevice, suggestDevices } from "../core/hardware/devices";
import type { DeviceItem, DevicesResult, FindDeviceResult } from "./protocol";
import type { Locale } from "./text";

const LABELS: Readonly<Record<Locale, Readonly<Record<DeviceGroup, string>>>> = {
  en: {
    "data-centre": "Data centre",
    workstation: "Workstation",
    consumer: "Consumer",
    laptop: "Laptop",
    apple: "Apple",
    size: "Memory size",
  },
  "zh-cn": {
    "data-centre": "数据中心",
    workstation: "工作站",
    consumer: "消费级",
    laptop: "笔记本",
    apple: "Apple",
    size: "显存大小",
  },
};

/** What most people train on: rented first, then owned. */
const COMMON: readonly string[] = [
  "NVIDIA A100-SXM4-80GB",
  "NVIDIA A100-SXM4-40GB",
  "NVIDIA H100 80GB HBM3",
  "NVIDIA H200",
  "NVIDIA B200",
  "NVIDIA L40S",
  "NVIDIA L4",
  "NVIDIA A10G",
  "Tesla T4",
  "Tesla V100-SXM2-16GB",
  "NVIDIA RTX A6000",
  "NVIDIA GeForce RTX 5090",
  "NVIDIA GeForce RTX 4090",
  "NVIDIA GeForce RTX 3090",
  "NVIDIA GeForce RTX 4080",
  "NVIDIA GeForce RTX 4070",
  "NVIDIA GeForce RTX 3080",
  "NVIDIA GeForce RTX 3060",
  "NVIDIA GeForce RTX 4060",
  "AMD Instinct MI300X",
].filter((name) => DEVICES.some((device) => device.name === name));

/** What a typed name, size or machine type means. */
export function lookUpDevice(text: string): FindDeviceResult {
  const match = findDevice(text);
  if (match === null) return { device: null, suggestions: suggestDevices(text).map(({ name }) => name) };
  const { name, memoryBytes } = match.device;
  return { device: { name, memoryBytes, count: match.count }, suggestions: [] };
}

/** Every device of the catalogue by group, in the catalogue's order; groups without devices are left out. */
export function deviceGroups(locale: Locale): DevicesResult {
  const groups = DEVICE_GROUPS.map((group) => ({
    label: LABELS[locale][group],
    devices: DEVICES.filter((device) => device.group === group).map(
      ({ name, memoryBytes, mig }): DeviceItem => ({
        name,
        memoryBytes,
        slices: mig.map((profile) => ({ name: `${name} MIG ${profile.name}`, memoryBytes: profile.memoryBytes })),
      }),
    ),
  }));
  return { common: COMMON, groups: groups.filter(({ devices }) => devices.length > 0) };
}
