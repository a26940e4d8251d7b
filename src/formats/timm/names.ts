/** Names of timm's networks. */

/** `hf_hub:timm/resnet50.a1_in1k` is the network `resnet50`: what follows the dot names its weights (timm/models/_pretrained.py). */
export function networkName(text: string): string {
  return (text.split("/").at(-1) ?? text).split(".")[0] ?? text;
}
