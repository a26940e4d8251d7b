/** The network of a small plan of nnU-Net, as its files write it. */
export const ARCHITECTURE = {
  network_class_name: "dynamic_network_architectures.architectures.unet.PlainConvUNet",
  arch_kwargs: {
    n_stages: 3,
    features_per_stage: [8, 16, 32],
    conv_op: "torch.nn.modules.conv.Conv3d",
    kernel_sizes: [
      [1, 3, 3],
      [3, 3, 3],
      [3, 3, 3],
    ],
    strides: [
      [1, 1, 1],
      [1, 2, 2],
      [2, 2, 2],
    ],
    n_conv_per_stage: [2, 2, 2],
    n_conv_per_stage_decoder: [2, 2],
    conv_bias: true,
  },
};
