/**
 * What encoder-decoders do where float16 may have overflowed: `if hidden_states.dtype == torch.float16: clamp`. In other
 * dtypes nothing happens. Sources: transformers' modeling_mbart.py (MBartEncoderLayer), modeling_t5.py (T5Block).
 */
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { clamp, elementwise } from "./arithmetic";

/** @param checked the limits depend on whether a value is infinite already, which the device is asked (T5) */
export function clampHalf(torch: Torch, self: Tensor, checked: boolean): Tensor {
  if (self.dtype !== "float16") return self.retain();
  if (!checked) return clamp(torch, self, 2);
  const infinite = elementwise(torch, "isinf", [self], "bool");
  const any = torch.empty("any", [], "bool");
  infinite.release();
  const limits = [torch.empty("scalar_tensor", [], "float32"), torch.empty("scalar_tensor", [], "float32")];
  const upper = torch.empty("where", [], "float32");
  for (const tensor of [any, ...limits]) tensor.release();
  const lower = torch.empty("neg", [], "float32");
  const out = clamp(torch, self, 2, [lower, upper]);
  for (const tensor of [lower, upper]) tensor.release();
  return out;
}
