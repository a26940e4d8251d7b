"""Batches of TRL's trainers as their collators make them, and the sizes that they are drawn in."""

import torch


# Per-token outputs each trainer asks the policy's fused head for.
HEADS = {
    "dpo": ("log_probs", "entropy", "mean_logits", "is_top1"),
    "kto": ("log_probs", "entropy", "mean_logits"),
    "grpo": ("log_probs", "entropy"),
    "rloo": ("log_probs", "entropy"),
    "score": ("log_probs", "entropy"),
    "sft": ("log_probs", "entropy", "is_top1"),
}


def symbols(kind, r):
    """Sizes of one micro-batch: all different, so that an expression can tell them apart."""
    pairs = 2 * r.randint(2, 9)
    sizes = {"B": pairs, "S": r.randint(31, 60)}
    if kind in ("grpo", "rloo", "score"):
        prompt, completion = r.randint(11, 30), r.randint(31, 60)
        sizes = {"B": pairs, "S": prompt + completion, "P": prompt, "T": completion}
    rows = sizes["B"] * (2 if kind == "dpo" else 1)
    if kind == "score":
        return {**sizes, "C": rows * sizes["T"]}
    if kind in ("orpo", "cpo", "gkd"):
        sizes["P"] = r.randint(5, 30)
    if kind not in ("reward", "orpo", "cpo"):
        sizes["C"] = rows * r.randint(5, sizes.get("T", sizes["S"]) - 2)
    return sizes


def scored_mask(rows, length, count, device):
    """A mask with `count` of its positions set, as many in every row, at the end."""
    mask = torch.zeros(rows, length, dtype=torch.long, device=device)
    if device == "cpu":
        mask[:, length - count // rows :] = 1
    return mask


def makers(device):
    """What makes token ids, masks and numbers of a shape on a device."""
    long = lambda *shape: torch.zeros(shape, dtype=torch.long, device=device)
    ones = lambda *shape: torch.ones(shape, dtype=torch.long, device=device)
    numbers = lambda *shape: torch.zeros(shape, device=device)
    return long, ones, numbers


def batch_of(kind, settings, sizes, device):
    """The tensors a data loader (or the generation) hands to the loss."""
    b, s = sizes["B"], sizes.get("S", 0)
    long, ones, numbers = makers(device)
    if kind in ("dpo", "reward"):
        batch = {"input_ids": long(2 * b, s), "attention_mask": ones(2 * b, s)}
        if kind == "dpo":
            batch["completion_mask"] = scored_mask(2 * b, s, sizes["C"], device)
            if settings["reference"] == "none":
                batch.update(ref_chosen_logps=numbers(b), ref_rejected_logps=numbers(b))
        return batch
    if kind == "kto":
        batch = {}
        for prefix in ("", "KL_") if settings["loss"] == "kto" else ("",):
            batch.update(
                {
                    f"{prefix}input_ids": long(b, s),
                    f"{prefix}attention_mask": ones(b, s),
                    f"{prefix}completion_mask": scored_mask(b, s, sizes["C"], device),
                }
            )
        if settings["reference"] == "none":
            batch["ref_logps"] = numbers(b)
            if settings["loss"] == "kto":
                batch["ref_KL_logps"] = numbers(b)
        label = torch.zeros(b, dtype=torch.bool, device=device)
        if device == "cpu":
            label[: b // 2] = True
        return {**batch, "label": label}
    if kind in ("orpo", "cpo"):
        batch = {f"{side}_{part}": long(b, s) for side in ("chosen", "rejected") for part in ("input_ids", "attention_mask", "labels")}
        return {**batch, "prompt_input_ids": long(b, sizes["P"]), "prompt_attention_mask": long(b, sizes["P"])}
    if kind == "gkd":
        labels = long(b, s)
        if device == "cpu":
            labels[:, 1 : s - sizes["C"] // b] = -100
        return {
            "input_ids": long(b, s),
            "attention_mask": ones(b, s),
            "labels": labels,
            "prompts": long(b, sizes["P"]),
            "prompt_attention_mask": ones(b, sizes["P"]),
            "num_items_in_batch": long(),
        }
    if kind == "score":
        return {"input_ids": long(b, s), "attention_mask": ones(b, s)}
    if kind == "sft":
        labels = long(b, s)
        if device == "cpu":
            labels[:, 1 : s - sizes["C"] // b] = -100
        return {"input_ids": long(b, s), "attention_mask": ones(b, s), "labels": labels, "num_items_in_batch": long()}
    p, t = sizes["P"], sizes["T"]
    batch = {
        "prompt_ids": long(b, p),
        "prompt_mask": ones(b, p),
        "completion_ids": long(b, t),
        "completion_mask": scored_mask(b, t, sizes["C"], device),
        "advantages": numbers(b),
    }
    if kind == "rloo":
        return {**batch, "old_logps": numbers(b)}
    batch["num_items_in_batch"] = long()
    if settings["old"]:
        batch["old_per_token_logps"] = numbers(b, t)
    if settings["kl"]:
        batch["ref_per_token_logps"] = numbers(b, t)
    return batch
