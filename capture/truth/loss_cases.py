"""Cases of losses that go over the logits in parts."""

import random
from .small_models import llama


def loss_cases(count):
    """Cases of torchtune's losses over pieces of every sequence: logits of all pieces first, or a piece at a time."""
    for kind in ("output", "linear"):
        for k in range(4 * count):
            r = random.Random(f"chunked-{kind}-{k}")
            case = {"id": f"chunked-{kind}-{k}", "model": llama(r), "batch": r.choice((1, 2, 3)), "seq": r.randint(20, 200), "attn": "sdpa"}
            case.update(
                load_dtype=r.choice(("bfloat16", "bfloat16", "float32")),
                amp=None,
                optim="adamw_torch",
                chunked_loss={"chunks": r.choice((8, 8, 3)), "keeps_logits": kind == "output"},
            )
            case["gradient_checkpointing"] = k % 2 == 1
            if case["gradient_checkpointing"]:
                case["use_reentrant"] = False
            yield case


def run_loss(oracle, case, **options):
    """The model's own loss replaced as torchtune's recipes compute it, without the library's masks of ignored tokens."""
    import torch
    from transformers.models.llama import modeling_llama

    chunks, keeps = case["chunked_loss"]["chunks"], case["chunked_loss"]["keeps_logits"]

    def of(logits, labels):
        return torch.nn.functional.cross_entropy(logits.float().reshape(-1, logits.shape[-1]), labels.reshape(-1), reduction="sum")

    def forward(self, input_ids=None, labels=None, num_items_in_batch=None, **given):
        hidden = self.model(input_ids=input_ids, num_items_in_batch=num_items_in_batch, **given).last_hidden_state
        padded = torch.nn.functional.pad(labels, (0, 1), value=-100)
        labels = padded[..., 1:].contiguous()
        pieces, targets = hidden.split(lengths(hidden.shape[1], chunks), dim=1), labels.split(lengths(labels.shape[1], chunks), dim=1)
        del hidden
        total = None
        logits = [self.lm_head(piece) for piece in pieces] if keeps else None
        for k, (piece, target) in enumerate(zip(pieces, targets)):
            loss = of(logits[k] if keeps else self.lm_head(piece), target)
            total = loss if total is None else total + loss
            del loss
        return {"loss": total / num_items_in_batch}

    modeling_llama.LlamaForCausalLM.forward = forward
    return oracle.run(case, **options)


def lengths(length, chunks):
    """What `tensor_split` makes of a length."""
    return [length // chunks + (k < length % chunks) for k in range(chunks)]
