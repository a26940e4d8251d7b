"""Two steps of torchtitan's own loop (`train_step` of train.py), whose phases the oracle's ledger is told."""

import contextlib
import gc


def two_steps(torch, ledger, model, c, amp=contextlib.nullcontext, **clipping):
    """Trains a model on batches of `c["batch"]` samples of `c["seq"]` tokens; `clipping` goes to torchtitan's `clip_grad_norm_`."""
    from torchtitan.distributed.utils import clip_grad_norm_

    model.train()
    gc.collect()
    ledger.phase = "optimizer-init"
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=3e-4, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, fused=True)
    for step in (1, 2):
        optimizer.zero_grad()
        ledger.phase = f"forward{step}"
        inputs, labels = (torch.zeros(c["batch"], c["seq"], dtype=torch.long, device="cuda") for _ in range(2))
        with amp():
            pred = model(inputs)
            loss = torch.nn.functional.cross_entropy(pred.flatten(0, 1).float(), labels.flatten(0, 1))
        del pred
        ledger.phase = f"backward{step}"
        loss.backward()
        ledger.phase = f"step{step}"
        clip_grad_norm_(parameters, 1.0, foreach=True, **clipping)
        optimizer.step()
        del inputs, labels, loss
