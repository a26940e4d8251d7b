import { strict as assert } from "node:assert";
import {
  COMMON_SIZES,
  DEVICES,
  deviceOf,
  deviceSpec,
  findDevice,
  suggestDevices,
  usableBytes,
} from "../../../src/core/hardware/devices";
import { INSTANCE_TYPES } from "../../../src/core/hardware/instances";

const GIB = 2 ** 30;

describe("devices", () => {
  const found: readonly (readonly [string, string, number])[] = [
    ["NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090", 1],
    ["RTX 4090", "NVIDIA GeForce RTX 4090", 1],
    ["rtx4090", "NVIDIA GeForce RTX 4090", 1],
    ["4090", "NVIDIA GeForce RTX 4090", 1],
    ["RTX 4090 24GB", "NVIDIA GeForce RTX 4090", 1],
    ["4090 Laptop", "NVIDIA GeForce RTX 4090 Laptop GPU", 1],
    ["3080Ti", "NVIDIA GeForce RTX 3080 Ti", 1],
    ["4070 Ti Super", "NVIDIA GeForce RTX 4070 Ti SUPER", 1],
    ["1660 Super", "NVIDIA GeForce GTX 1660 SUPER", 1],
    ["A100-80GB", "NVIDIA A100-SXM4-80GB", 1],
    ["A100 80 GB", "NVIDIA A100-SXM4-80GB", 1],
    ["A100-40GB", "NVIDIA A100-SXM4-40GB", 1],
    ["A100", "NVIDIA A100-SXM4-80GB", 1],
    ["A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB", 1],
    ["NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB", 1],
    ["NVIDIA A100 80GB PCIe", "NVIDIA A100 80GB PCIe", 1],
    ["H100", "NVIDIA H100 80GB HBM3", 1],
    ["H100 PCIe", "NVIDIA H100 PCIe", 1],
    ["H200", "NVIDIA H200", 1],
    ["GB200", "NVIDIA GB200", 1],
    ["V100", "Tesla V100-SXM2-16GB", 1],
    ["Tesla T4", "Tesla T4", 1],
    ["T4", "Tesla T4", 1],
    ["L4", "NVIDIA L4", 1],
    ["L40S", "NVIDIA L40S", 1],
    ["A6000", "NVIDIA RTX A6000", 1],
    ["RTX 6000 Ada", "NVIDIA RTX 6000 Ada Generation", 1],
    ["RTX PRO 6000", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 1],
    ["MI300X", "AMD Instinct MI300X", 1],
    ["7900 XTX", "AMD Radeon RX 7900 XTX", 1],
    ["M3 Max 64GB", "Apple M3 Max 64GB", 1],
    ["H100 MIG 3g.40gb", "NVIDIA H100 80GB HBM3 MIG 3g.40gb", 1],
    ["NVIDIA A100-SXM4-40GB MIG 1g.5gb", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", 1],
    ["24GB", "24GB", 1],
    ["24", "24GB", 1],
    ["24576MiB", "24GB", 1],
    ["80 GiB", "80GB", 1],
    ["p4d.24xlarge", "NVIDIA A100-SXM4-40GB", 8],
    ["A100-SXM-40GB", "NVIDIA A100-SXM4-40GB", 1],
    ["NVIDIA A100-SXM-80GB", "NVIDIA A100-SXM4-80GB", 1],
    ["A100-PCIE-80GB", "NVIDIA A100 80GB PCIe", 1],
    ["MI300", "AMD Instinct MI300X", 1],
    ["Mac M2 Max 96GB", "Apple M2 Max 96GB", 1],
    ["1080 Ti", "NVIDIA GeForce GTX 1080 Ti", 1],
    ["16384 MB", "16GB", 1],
    ["ml.p4d.24xlarge", "NVIDIA A100-SXM4-40GB", 8],
    ["ND96isr_H100_v5", "NVIDIA H100 80GB HBM3", 8],
    ["A100-80GB MIG 3g.40gb", "NVIDIA A100-SXM4-80GB MIG 3g.40gb", 1],
    ["p5.48xlarge", "NVIDIA H100 80GB HBM3", 8],
    ["Standard_NC24ads_A100_v4", "NVIDIA A100 80GB PCIe", 1],
    ["a2-ultragpu-4g", "NVIDIA A100-SXM4-80GB", 4],
    ["8xH100", "NVIDIA H100 80GB HBM3", 8],
    ["2 x RTX 3090", "NVIDIA GeForce RTX 3090", 2],
    ["A100-80GB x4", "NVIDIA A100-SXM4-80GB", 4],
  ];
  for (const [asked, name, count] of found) {
    it(`finds "${asked}"`, () => {
      const match = findDevice(asked);
      assert.equal(match?.device.name, name);
      assert.equal(match?.count, count);
    });
  }

  it("finds every name and alias it prints, as the card it stands for", () => {
    for (const device of DEVICES) assert.equal(findDevice(device.name)?.device.name, device.name);
    const names = DEVICES.flatMap((device) => [device.name, ...device.aliases].map((name) => name.toLowerCase()));
    assert.equal(new Set(names).size, names.length);
    for (const device of DEVICES)
      for (const alias of device.aliases) assert.equal(findDevice(alias)?.device.name, device.name, alias);
  });

  it("says no to what is no device", () => {
    for (const text of ["", "  ", "banana", "0GB", "-5", "NaN", "0xA100", "MIG 9g.999gb", "RTX", "gpu"])
      assert.equal(findDevice(text), null, text);
  });

  it("offers near names", () => {
    assert.ok(suggestDevices("RTX 4070 Tie").some((device) => device.name.includes("4070")));
    assert.deepEqual(suggestDevices("zzz"), []);
  });

  it("has instance types whose card exists", () => {
    for (const instance of INSTANCE_TYPES)
      assert.equal(findDevice(instance.name)?.device.name, instance.device, instance.name);
  });

  it("never promises more than the driver reports, and keeps at most 7 % back on a discrete card", () => {
    for (const device of DEVICES) {
      const usable = usableBytes(device);
      assert.ok(Number.isInteger(device.memoryBytes) && Number.isInteger(usable), device.name);
      assert.ok(usable <= device.memoryBytes, device.name);
      if (!device.unified) assert.ok(usable > 0.93 * device.memoryBytes, device.name);
    }
  });

  it("has rates in the order physics has them", () => {
    for (const device of DEVICES) {
      if (device.peak === null) continue;
      const { float32, tfloat32, float16, bfloat16, float8 } = device.peak;
      assert.ok(float16 >= float32, device.name);
      if (tfloat32 !== null) assert.ok(tfloat32 >= 0.99 * float32, device.name);
      if (bfloat16 !== null && float8 !== null) assert.ok(float8 >= bfloat16, device.name);
    }
  });

  it("slices are smaller than their card", () => {
    for (const device of DEVICES)
      for (const mig of device.mig) {
        const slice = findDevice(`${device.name} MIG ${mig.name}`)?.device;
        assert.ok(slice !== undefined && usableBytes(slice) < device.memoryBytes, `${device.name} ${mig.name}`);
      }
  });

  it("round-trips through a run's device", () => {
    for (const asked of ["RTX 4090", "H100 MIG 3g.40gb", "24GB", "MI300X"]) {
      const match = findDevice(asked);
      assert.ok(match);
      assert.deepEqual(deviceOf(deviceSpec(match)), match.device);
    }
    const mystery = deviceOf({ name: "mystery", memoryBytes: 10 * GIB, architecture: "unknown", count: 1 });
    assert.equal(mystery.name, "mystery");
    assert.equal(usableBytes(mystery), Math.floor(10 * GIB - (0.2 + 0.15) * GIB));
  });

  it("compares common sizes from small to large", () => {
    const sizes = COMMON_SIZES.map(usableBytes);
    assert.equal(sizes.length, 11);
    assert.deepEqual(
      sizes,
      [...sizes].sort((a, b) => a - b),
    );
  });
});
