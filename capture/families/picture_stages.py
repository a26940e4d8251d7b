"""Families that classify pictures in stages of falling size, beside those of `pictures.py` (see family.py)."""

from .family import Option
from .pictures import DROP_PATH, FOUR_STAGES, _images, _sets, _sides
from .usual_keys import ACTIVATIONS, drop


def stages(r, widths="hidden_sizes", step=4, count=4, **more):
    """Stages of different widths and depths."""
    return {
        widths: [step * w for w in sorted(r.sample(range(3, 14), count))],
        "depths": [r.randint(2, 4) for _ in range(count)],
        "num_labels": r.randint(3, 19),
        "hidden_act": r.choice(ACTIVATIONS),
        **more,
    }


def attending(r, **more):
    """Stages with attention, whose heads divide their widths."""
    heads = [r.randint(1, 3) * k for k in (1, 2, 4, 8)]
    return dict(
        num_attention_heads=heads,
        hidden_sizes=[h * 2 * r.randint(2, 7) for h in heads],
        depths=[r.randint(2, 4) for _ in range(4)],
        hidden_dropout_prob=drop(r),
        attention_probs_dropout_prob=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
        num_labels=r.randint(3, 19),
        qkv_bias=r.random() < 0.5,
        mlp_ratios=[r.randint(2, 8) for _ in range(4)],
        **more,
    )


def focal(r):
    d = stages(r)
    d.pop("hidden_sizes")
    return d | dict(embed_dim=4 * r.randint(3, 9), hidden_dropout_prob=drop(r), mlp_ratio=float(r.randint(2, 4)))


def own_heads(r):
    """Three stages of attention over a grid, each with heads of its own width."""
    key = 8 * r.randint(1, 4)
    return dict(
        hidden_sizes=[key * w for w in sorted(r.sample(range(3, 14), 3))],
        num_attention_heads=sorted(r.sample(range(2, 9), 3)),
        depths=[r.randint(2, 3) for _ in range(3)],
        key_dim=[key] * 3,
        num_labels=r.randint(3, 19),
        drop_path_rate=0,
    )


def swift(r):
    return stages(r, "embed_dims") | dict(mlp_ratio=r.randint(2, 5))


def masked_units(r):
    heads, width = r.randint(1, 3), 4 * r.randint(2, 5)
    return dict(
        embed_dim=heads * width,
        num_heads=[heads * k for k in (1, 2, 4, 8)],
        depths=[r.randint(2, 3) for _ in range(4)],
        num_labels=r.randint(3, 19),
        hidden_act=r.choice(ACTIVATIONS),
        mlp_ratio=float(r.randint(2, 4)),
    )


def convolved(r):
    heads = [r.randint(1, 2) * k for k in (1, 2, 3)]
    return dict(
        num_heads=heads,
        embed_dim=[h * 4 * r.randint(2, 5) for h in heads],
        depth=[1, r.randint(2, 3), r.randint(3, 4)],
        num_labels=r.randint(3, 19),
    )


def mobile(r):
    heads = r.choice((2, 4))
    return dict(
        num_attention_heads=heads,
        hidden_sizes=[heads * 2 * w for w in sorted(r.sample(range(3, 12), 3))],
        neck_hidden_sizes=[8 * w for w in sorted(r.sample(range(1, 20), 7))],
        expand_ratio=r.choice((2.0, 4.0)),
        hidden_dropout_prob=drop(r),
        attention_probs_dropout_prob=drop(r),
        classifier_dropout_prob=drop(r),
        qkv_bias=r.random() < 0.5,
        num_labels=r.randint(3, 19),
        hidden_act=r.choice(ACTIVATIONS),
    )


def mobile2(r):
    return dict(
        width_multiplier=1.0,
        num_labels=r.randint(3, 19),
        classifier_dropout_prob=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
        attn_dropout=drop(r),
        ffn_dropout=drop(r),
    )


def preactivated(r):
    groups = 4
    return stages(r, step=4 * groups) | dict(num_groups=groups, embedding_size=8 * r.randint(5, 9))


def _own(multiple, least=2, most=4):
    """Pictures of the side that the model is made for, whole patches at every stage."""

    def sizes(d, s, r):
        d["image_size"] = s["I"] = multiple * r.randint(least, most)

    return sizes


NONE = {"attention": ("none",), "inputs_follow": True}
GRIDS = {"terms": ("I//8", "I//16", "I//32", "(I//16)*(I//16)", "(I//32)*(I//32)+1")}
OWN_GRIDS = {"terms": ("image_size//8", "image_size//16", "image_size//32"), "hidden": ("I",)}
LINEAR = (Option("linear_attention", _sets(linear_attention=True)), Option("not linear_attention", _sets(linear_attention=False)))
# Published classifiers halve the sides five times, those that give each pixel a class four times or three.
STRIDES = tuple(Option(f"output_stride == {n}", _sets(output_stride=n)) for n in (32, 16, 8))
# Feed-forward layers of stages, each of its own ratio.
RATIOS = tuple(f"hidden_sizes.{k}*mlp_ratios.{k}" for k in range(4))
# What published ones are made of; the largest has convolutions before its stages and norms after its layers.
PLAIN_FOCAL = "not use_conv_embed and not use_layerscale and not use_post_layernorm and not use_post_layernorm_in_modulation and not normalize_modulator"
LEVELS = tuple(
    Option(
        f"depths.length == 4 and {PLAIN_FOCAL} and {' and '.join(f'focal_levels.{k} == {n}' for k in range(4))}",
        _sets(focal_levels=[n] * 4),
    )
    for n in (2, 3)
)
HALVED = ("image_size//16", "image_size//32", "ceil_div(image_size,64)")
"""Sides of grids that are halved between stages, an odd one rounded up: 14, 7 and 4 of pictures of 224."""
WIDTHS = ("2*embed_dim", "4*embed_dim", "8*embed_dim")
FAMILIES = {
    "poolformer": _images(
        stages, **NONE, sizes=_sides(64), spelled=r"poolformer\.encoder\.(block|patch_embeddings)", axes=(FOUR_STAGES, DROP_PATH)
    ),
    "pvt": _images(
        attending,
        **NONE,
        sizes=_own(32),
        **{**OWN_GRIDS, "terms": (*OWN_GRIDS["terms"], *RATIOS)},
        spelled=r"pvt\.encoder\.(block|patch_embeddings)",
        axes=(FOUR_STAGES, DROP_PATH),
    ),
    "pvt_v2": _images(
        attending,
        **NONE,
        terms=(*GRIDS["terms"], *RATIOS),
        sizes=_sides(64),
        spelled=r"pvt_v2\.encoder\.layers",
        axes=(FOUR_STAGES, LINEAR, DROP_PATH),
    ),
    "focalnet": _images(
        focal,
        **NONE,
        terms=(*GRIDS["terms"], *WIDTHS),
        sizes=_sides(64),
        spelled=r"focalnet\.encoder\.stages|.*focal_layers",
        axes=(LEVELS, DROP_PATH),
    ),
    "levit": _images(
        own_heads,
        **NONE,
        sizes=_own(32, 3, 8),
        terms=HALVED,
        hidden=("I",),
        spelled=r"levit\.encoder\.stages",
        depths=("(2*depths.0)", "(2*depths.1)"),
        axes=((Option("depths.length == 3", lambda d, s, r: None),),),
    ),
    "swiftformer": _images(
        swift, **NONE, **GRIDS, sizes=_sides(64), spelled=r"swiftformer\.encoder\.network|.*patch_embedding", axes=(FOUR_STAGES, DROP_PATH)
    ),
    "hiera": _images(
        masked_units,
        **NONE,
        sizes=lambda d, s, r: s.update(I=224),
        spelled=r"hiera\.encoder\.stages",
        terms=(*WIDTHS, "1+min(i,1)"),
        axes=(
            (Option("depths.length == 4 and I == 224 and image_size.0 == 224 and embed_dim_multiplier == 2", lambda d, s, r: None),),
            DROP_PATH,
        ),
    ),
    "cvt": _images(
        convolved,
        **NONE,
        **GRIDS,
        sizes=_sides(64),
        spelled=r"cvt\.encoder\.stages",
        axes=(
            (
                Option("depth.length == 3 and depth.0 == 1", lambda d, s, r: None),
                Option("depth.length == 3 and depth.0 > 1", lambda d, s, r: d["depth"].__setitem__(0, r.randint(2, 3))),
            ),
        ),
    ),
    "mobilevit": _images(
        mobile,
        attention=("none",),
        inputs_follow=True,
        **GRIDS,
        sizes=_sides(64),
        spelled=r"mobilevit\.encoder\.layer(\.\d+\.layer)?",
        axes=(STRIDES,),
    ),
    "mobilevitv2": _images(
        mobile2,
        **NONE,
        **GRIDS,
        sizes=_sides(64),
        spelled=r"mobilevitv2\.encoder\.layer(\.\d+\.layer)?",
        axes=(
            (
                Option(
                    "width_multiplier == 1 and n_attn_blocks.length == 3 and n_attn_blocks.0 == 2 and n_attn_blocks.1 == 4 and n_attn_blocks.2 == 3 and base_attn_unit_dims.0 == 128 and base_attn_unit_dims.1 == 192 and base_attn_unit_dims.2 == 256",
                    lambda d, s, r: None,
                ),
            ),
        ),
    ),
    "bit": _images(
        preactivated,
        **NONE,
        sizes=_sides(64),
        spelled=r"bit\.encoder\.stages",
        axes=(
            FOUR_STAGES,
            (
                Option(
                    "layer_type == 'preactivation' and global_padding == null and not embedding_dynamic_padding and width_factor == 1 and output_stride == 32 and drop_path_rate == 0",
                    lambda d, s, r: None,
                ),
            ),
        ),
    ),
}
