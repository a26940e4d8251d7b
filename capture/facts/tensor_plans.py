"""Writes how transformers splits the modules of each family over GPUs (`base_model_tp_plan`, `_tp_plan`).

usage: python -m capture.facts.tensor_plans        (writes src/core/training/parallel/tensor-plan/plans.json)

Families with graphs whose plan is followed: linear layers and stacks of experts; latent attention has a style of its own.
"""

import collections
import pathlib

from .data import save

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAPHS = ROOT / "models" / "graphs"
OUT = ROOT / "src" / "core" / "training" / "parallel" / "tensor-plan" / "plans.json"
STYLES = {
    "colwise": "columns",
    "rowwise": "rows",
    "colwise_gather_output": "gathered-columns",
    "rowwise_split_input": "split-rows",
    "replicated_with_grad_allreduce": None,
    "packed_colwise": "packed-columns",
    "grouped_gemm": "experts",
    # What they exchange is summed where it lies; a router's tokens are marked by experts' numbers.
    "moe_tp_experts": None,
    "ep_router": None,
}


def plan_of(family, kind="tp"):
    """Paths with `*` for a layer's number, each with its style; None without a plan of the kind (`tp`, `ep`) that is followed."""
    from transformers import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

    try:
        config = CONFIG_MAPPING[family]
        model = MODEL_FOR_CAUSAL_LM_MAPPING.get(config, None)
    except KeyError:
        return None
    base = getattr(config, f"base_model_{kind}_plan", None)
    if model is None or isinstance(model, tuple) or not base:
        return None
    named = {f"{model.base_model_prefix}.{path}": style for path, style in base.items()}
    plan = {**named, **(getattr(model, f"_{kind}_plan", None) or {})}
    if any(style not in STYLES for style in plan.values()):
        return None
    return tuple(sorted((path, STYLES[style]) for path, style in plan.items() if STYLES[style]))


def plans_of(kind):
    families = collections.defaultdict(list)
    for family in sorted(path.stem for path in GRAPHS.glob("*.json")):
        plan = plan_of(family, kind)
        if plan:
            families[plan].append(family)
    ordered = sorted(families.items(), key=lambda item: (-len(item[1]), item[1]))
    return [{"families": names, "modules": dict(plan)} for plan, names in ordered]


def main():
    save(
        OUT,
        "How transformers splits the layers of each family over GPUs, by paths with `*` for a layer's number; `experts`: how it shares out experts.",
        "`base_model_tp_plan`, `base_model_ep_plan` and `_tp_plan` of transformers 5.17, models/<family>/{configuration,modeling}_<family>.py",
        "tensor_plans",
        plans=plans_of("tp"),
        experts=plans_of("ep"),
    )


if __name__ == "__main__":
    main()
