/** Machine types of the clouds: name → card and how many (AWS, Google Cloud, Azure, Oracle and Lambda documentation). */

/** Card, count, machine types with exactly that. */
const TYPES: readonly (readonly [string, number, string])[] = [
  ["Tesla V100-SXM2-16GB", 1, "p3.2xlarge"],
  ["Tesla V100-SXM2-16GB", 4, "p3.8xlarge"],
  ["Tesla V100-SXM2-16GB", 8, "p3.16xlarge gpu_8x_v100"],
  ["Tesla V100-SXM2-32GB", 8, "p3dn.24xlarge Standard_ND40rs_v2"],
  ["Tesla V100-PCIE-16GB", 1, "Standard_NC6s_v3"],
  ["Tesla V100-PCIE-16GB", 2, "Standard_NC12s_v3"],
  ["Tesla V100-PCIE-16GB", 4, "Standard_NC24s_v3 Standard_NC24rs_v3"],
  [
    "Tesla T4",
    1,
    "g4dn.xlarge g4dn.2xlarge g4dn.4xlarge g4dn.8xlarge g4dn.16xlarge Standard_NC4as_T4_v3 Standard_NC8as_T4_v3 Standard_NC16as_T4_v3",
  ],
  ["Tesla T4", 2, "kaggle-t4x2"],
  ["Tesla T4", 4, "g4dn.12xlarge Standard_NC64as_T4_v3"],
  ["Tesla T4", 8, "g4dn.metal"],
  ["NVIDIA A10G", 1, "g5.xlarge g5.2xlarge g5.4xlarge g5.8xlarge g5.16xlarge"],
  ["NVIDIA A10G", 4, "g5.12xlarge g5.24xlarge"],
  ["NVIDIA A10G", 8, "g5.48xlarge"],
  ["NVIDIA A10", 1, "Standard_NV36ads_A10_v5 VM.GPU.A10.1 gpu_1x_a10"],
  ["NVIDIA A10", 2, "Standard_NV72ads_A10_v5 VM.GPU.A10.2"],
  ["NVIDIA A10", 4, "BM.GPU.A10.4"],
  [
    "NVIDIA L4",
    1,
    "g6.xlarge g6.2xlarge g6.4xlarge g6.8xlarge g6.16xlarge gr6.4xlarge gr6.8xlarge g2-standard-4 g2-standard-8 g2-standard-12 g2-standard-16 g2-standard-32",
  ],
  ["NVIDIA L4", 2, "g2-standard-24"],
  ["NVIDIA L4", 4, "g6.12xlarge g6.24xlarge g2-standard-48"],
  ["NVIDIA L4", 8, "g6.48xlarge g2-standard-96"],
  ["NVIDIA L40S", 1, "g6e.xlarge g6e.2xlarge g6e.4xlarge g6e.8xlarge g6e.16xlarge"],
  ["NVIDIA L40S", 4, "g6e.12xlarge g6e.24xlarge BM.GPU.L40S.4"],
  ["NVIDIA L40S", 8, "g6e.48xlarge"],
  ["NVIDIA RTX A6000", 1, "gpu_1x_a6000"],
  ["NVIDIA RTX A6000", 2, "gpu_2x_a6000"],
  ["NVIDIA RTX A6000", 4, "gpu_4x_a6000"],
  ["NVIDIA A100-PCIE-40GB", 1, "gpu_1x_a100"],
  ["NVIDIA A100-PCIE-40GB", 2, "gpu_2x_a100"],
  ["NVIDIA A100-PCIE-40GB", 4, "gpu_4x_a100"],
  ["NVIDIA A100-SXM4-40GB", 1, "a2-highgpu-1g gpu_1x_a100_sxm4"],
  ["NVIDIA A100-SXM4-40GB", 2, "a2-highgpu-2g"],
  ["NVIDIA A100-SXM4-40GB", 4, "a2-highgpu-4g"],
  ["NVIDIA A100-SXM4-40GB", 8, "p4d.24xlarge a2-highgpu-8g Standard_ND96asr_v4 BM.GPU4.8 gpu_8x_a100"],
  ["NVIDIA A100-SXM4-40GB", 16, "a2-megagpu-16g"],
  ["NVIDIA A100-SXM4-80GB", 1, "a2-ultragpu-1g"],
  ["NVIDIA A100-SXM4-80GB", 2, "a2-ultragpu-2g"],
  ["NVIDIA A100-SXM4-80GB", 4, "a2-ultragpu-4g"],
  [
    "NVIDIA A100-SXM4-80GB",
    8,
    "p4de.24xlarge a2-ultragpu-8g Standard_ND96amsr_A100_v4 BM.GPU.A100-v2.8 gpu_8x_a100_80gb_sxm4",
  ],
  ["NVIDIA A100 80GB PCIe", 1, "Standard_NC24ads_A100_v4"],
  ["NVIDIA A100 80GB PCIe", 2, "Standard_NC48ads_A100_v4"],
  ["NVIDIA A100 80GB PCIe", 4, "Standard_NC96ads_A100_v4"],
  ["NVIDIA H100 PCIe", 1, "gpu_1x_h100_pcie"],
  ["NVIDIA H100 NVL", 1, "Standard_NC40ads_H100_v5"],
  ["NVIDIA H100 NVL", 2, "Standard_NC80adis_H100_v5"],
  ["NVIDIA H100 80GB HBM3", 1, "p5.4xlarge a3-highgpu-1g gpu_1x_h100_sxm5"],
  ["NVIDIA H100 80GB HBM3", 2, "a3-highgpu-2g gpu_2x_h100_sxm5"],
  ["NVIDIA H100 80GB HBM3", 4, "a3-highgpu-4g gpu_4x_h100_sxm5"],
  [
    "NVIDIA H100 80GB HBM3",
    8,
    "p5.48xlarge a3-highgpu-8g a3-megagpu-8g a3-edgegpu-8g Standard_ND96isr_H100_v5 BM.GPU.H100.8 gpu_8x_h100_sxm5",
  ],
  ["NVIDIA GH200 480GB", 1, "gpu_1x_gh200"],
  ["NVIDIA H200", 8, "p5e.48xlarge p5en.48xlarge a3-ultragpu-8g Standard_ND96isr_H200_v5 BM.GPU.H200.8"],
  ["NVIDIA B200", 8, "p6-b200.48xlarge a4-highgpu-8g BM.GPU.B200.8 gpu_8x_b200_sxm6"],
  ["NVIDIA B300 SXM6 AC", 8, "p6-b300.48xlarge"],
  ["NVIDIA GB200", 4, "p6e-gb200.36xlarge a4x-highgpu-4g Standard_ND128isr_NDR_GB200_v6"],
  ["NVIDIA RTX PRO 6000 Blackwell Server Edition", 1, "g7e.2xlarge g7e.4xlarge g7e.8xlarge g4-standard-48"],
  ["NVIDIA RTX PRO 6000 Blackwell Server Edition", 2, "g7e.12xlarge g4-standard-96"],
  ["NVIDIA RTX PRO 6000 Blackwell Server Edition", 4, "g7e.24xlarge g4-standard-192"],
  ["NVIDIA RTX PRO 6000 Blackwell Server Edition", 8, "g7e.48xlarge g4-standard-384"],
  ["AMD Instinct MI300X", 8, "Standard_ND96isr_MI300X_v5 BM.GPU.MI300X.8"],
];

export interface InstanceType {
  readonly name: string;
  readonly device: string;
  readonly count: number;
}

export const INSTANCE_TYPES: readonly InstanceType[] = TYPES.flatMap(([device, count, names]) =>
  names.split(" ").map((name) => ({ name, device, count })),
);
