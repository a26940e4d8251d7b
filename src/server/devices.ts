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
  return { groups: groups.filter(({ devices }) => devices.length > 0) };
}
