/** `torch.addcmul(self, tensor1, tensor2)`: one kernel, and the two factors saved for each other. */
import { promoteAll } from "../dtype";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { elementwise, product } from "./arithmetic";

/**
 * Source: tools/autograd/derivatives.yaml, `addcmul`: the gradient of a factor is `grad * (other * value)`, whose scaled copy is there
 * for a moment whatever the value. Autocast takes all three in the widest of their dtypes (autocast_mode.h, AT_FORALL_PROMOTE).
 */
export function addcmul(torch: Torch, ...given: [self: Tensor, first: Tensor, second: Tensor]): Tensor {
  if (!torch.autocasting) return plainly(torch, ...given);
  const [self, first, second] = torch.castAll(promoteAll(given), ...given) as typeof given;
  const out = plainly(torch, self, first, second);
  for (const cast of [self, first, second]) cast.release();
  return out;
}

function plainly(torch: Torch, self: Tensor, first: Tensor, second: Tensor): Tensor {
  const node = torch.record("AddcmulBackward0", [self, first, second], (torch, [gradient], saved, node) => {
    if (!gradient) return [null, null, null];
    let next = 0;
    const factor = (other: Tensor): Tensor => {
      const scaled = elementwise(torch, "mul", [other, 1]);
      const result = product(torch, gradient, scaled);
      scaled.release();
      return result;
    };
    const ofFirst = node.edges[1] ? factor(saved[next++]!) : null;
    const ofSecond = node.edges[2] ? factor(saved[next++]!) : null;
    return [node.edges[0] ? gradient.retain() : null, ofFirst, ofSecond];
  });
  if (node?.edges[1]) torch.save(node, second);
  if (node?.edges[2]) torch.save(node, first);
  return torch.attach(node, elementwise(torch, "addcmul", [self, first, second]));
}
