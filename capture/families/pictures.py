"""Families that classify pictures: config keys, branches and how to draw them (see family.py)."""

from .family import Family, Option
from .usual_keys import ACTIVATIONS, drop


def _sets(**values):
    return lambda d, s, r: d.update(values)


def _sides(multiple):
    """Draws the side of the images: whole patches at every stage."""

    def sizes(d, s, r):
        s["I"] = multiple * r.randint(2, 6)

    return sizes


def _pyramid(r, step=1, stages=4):
    """Widths and depths of the stages, all different."""
    widths = sorted(r.sample(range(3, 40), stages))
    return dict(
        hidden_sizes=[step * w for w in widths],
        depths=[r.randint(2, 4) for _ in range(stages)],
        num_labels=r.randint(3, 19),
        hidden_act=r.choice(ACTIVATIONS),
    )


def _resnet(r):
    return _pyramid(r, 4) | dict(embedding_size=r.randint(41, 70))


def _basic(d, s, r):
    """ResNet-18 and 34: the first stage is as wide as the stem and has no projection."""
    d.update(layer_type="basic", embedding_size=d["hidden_sizes"][0])


def _regnet(r):
    group = 4 * r.randint(1, 3)
    widths = [group * w for w in sorted(r.sample(range(2, 14), 4))]
    return _pyramid(r) | dict(embedding_size=4 * r.randint(18, 24), groups_width=group, hidden_sizes=widths)


def _narrow(d, s, r):
    """The first stage is narrower than a group: one group of all its channels (RegNetXLayer)."""
    d.update(layer_type="x", hidden_sizes=[d["groups_width"] - r.randint(1, 2), *d["hidden_sizes"][1:]])


def _mobilenet(r):
    return dict(num_labels=r.randint(3, 19), classifier_dropout_prob=drop(r), hidden_act=r.choice(ACTIVATIONS))


def _multipliers(*values):
    return tuple(Option(f"depth_multiplier == {v}", _sets(depth_multiplier=v)) for v in values)


def _convnext(r):
    return _pyramid(r) | dict(patch_size=r.choice((2, 4)))


# Stochastic depth: none, or a rate that grows over the layers from none in the first.
DROP_PATH = (
    Option("drop_path_rate == 0", _sets(drop_path_rate=0.0)),
    Option("drop_path_rate > 0", lambda d, s, r: d.update(drop_path_rate=drop(r))),
)

SWIGLU = (Option("use_swiglu_ffn", _sets(use_swiglu_ffn=True)), Option("not use_swiglu_ffn", _sets(use_swiglu_ffn=False)))

FOUR_STAGES = (Option("depths.length == 4", lambda d, s, r: None),)


def _images(dims, **more):
    """A family that classifies images of any side."""
    more = {"tasks": ("image-cls",), "points": 5, **more}
    return Family(dims, **more)


HEAD = "hidden_size//num_attention_heads"

PATCHES = "image_size//patch_size"


def _encoder(r, **more):
    """A vision transformer of plain layers."""
    heads, width = r.randint(3, 9), 2 * r.randint(3, 15)
    patch = r.randint(3, 7)
    return dict(
        num_attention_heads=heads,
        hidden_size=heads * width,
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=r.randint(40, 240),
        hidden_dropout_prob=drop(r),
        attention_probs_dropout_prob=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
        num_labels=r.randint(3, 19),
        patch_size=patch,
        image_size=patch * r.randint(3, 9),
        **more,
    )


def _own_side(d, s, r):
    """Images of the side the model was made for."""
    s["I"] = d.get("vision_config", d)["image_size"]


def _plain(dims=_encoder, **more):
    return _images(
        dims,
        **{
            "inputs_follow": True,
            "sizes": _own_side,
            "terms": (HEAD, PATCHES, f"2*({PATCHES})-1", f"({PATCHES})*({PATCHES})+1"),
            "hidden": ("I",),
            **more,
        },
    )


def _swin(r):
    """Published ones see pictures of eight windows a side; the last stage is a single window."""
    heads, width, window, patch = r.randint(2, 4), 2 * r.randint(2, 6), r.randint(3, 6), r.choice((2, 4))
    return dict(
        embed_dim=heads * width,
        num_heads=[heads, 2 * heads, 4 * heads, 8 * heads],
        depths=[2, 2, 2 * r.randint(2, 3), 2],
        window_size=window,
        patch_size=patch,
        image_size=8 * window * patch,
        hidden_dropout_prob=drop(r),
        attention_probs_dropout_prob=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
        num_labels=r.randint(3, 19),
    )


EIGHT_WINDOWS = (Option("depths.length == 4 and I == 8*patch_size*window_size", lambda d, s, r: None),)


def _segformer(r):
    heads = [r.randint(1, 3) * k for k in (1, 2, 4, 8)]
    return dict(
        num_attention_heads=heads,
        hidden_sizes=[h * 2 * r.randint(2, 7) for h in heads],
        depths=[r.randint(2, 4) for _ in range(4)],
        decoder_hidden_size=r.randint(40, 90),
        hidden_dropout_prob=drop(r),
        attention_probs_dropout_prob=drop(r),
        classifier_dropout_prob=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
        num_labels=r.randint(3, 19),
    )


FAMILIES = {
    "resnet": _images(
        _resnet,
        attention=("none",),
        sizes=_sides(32),
        spelled=r"classifier|resnet\.encoder\.stages|.*\.layers\.\d+\.layer",
        inputs_follow=True,
        axes=(
            FOUR_STAGES,
            (
                Option("layer_type == 'bottleneck' and not downsample_in_bottleneck", _sets(layer_type="bottleneck")),
                Option("layer_type == 'basic'", _basic),
            ),
        ),
    ),
    "regnet": _images(
        _regnet,
        attention=("none",),
        sizes=_sides(32),
        spelled=r"classifier|regnet\.encoder\.stages|.*\.layers\.\d+\.layer(\.\d+\.attention)?",
        inputs_follow=True,
        axes=(
            FOUR_STAGES,
            (
                Option("layer_type == 'x' and hidden_sizes.0 >= groups_width", _sets(layer_type="x")),
                Option("layer_type == 'x' and hidden_sizes.0 < groups_width", _narrow),
                Option("layer_type == 'y' and hidden_sizes.0 >= groups_width", _sets(layer_type="y")),
            ),
        ),
    ),
    "convnext": _images(
        _convnext,
        attention=("none",),
        sizes=_sides(64),
        spelled=r"convnext\.encoder\.stages|.*\.downsampling_layer",
        inputs_follow=True,
        axes=(FOUR_STAGES, DROP_PATH),
    ),
    "convnextv2": _images(
        _convnext,
        attention=("none",),
        sizes=_sides(64),
        spelled=r"convnextv2\.encoder\.stages|.*\.downsampling_layer",
        inputs_follow=True,
        axes=(FOUR_STAGES, DROP_PATH),
    ),
    "mobilenet_v1": _images(
        _mobilenet,
        attention=("none",),
        sizes=_sides(32),
        spelled=r"mobilenet_v1\.layer",
        inputs_follow=True,
        axes=(_multipliers(0.25, 0.5, 0.75, 1.0),),
    ),
    "mobilenet_v2": _images(
        _mobilenet,
        attention=("none",),
        sizes=_sides(32),
        spelled=r"mobilenet_v2\.layer",
        inputs_follow=True,
        terms=("I//8", "I//16", "I//32"),
        axes=(_multipliers(0.35, 0.5, 0.75, 1.0, 1.3, 1.4),),
    ),
    "swin": _images(
        _swin,
        sizes=_own_side,
        inputs_follow=True,
        spelled=r"swin\.encoder\.layers",
        hidden=("I", "image_size"),
        terms=("2*window_size-1", *(f"{n}*window_size-window_size//2" for n in (2, 4, 8))),
        axes=(EIGHT_WINDOWS, DROP_PATH),
    ),
    "swinv2": _images(
        _swin,
        attention=("none",),
        sizes=_own_side,
        inputs_follow=True,
        spelled=r"swinv2\.encoder\.layers|.*continuous_position_bias_mlp",
        hidden=("I", "image_size"),
        terms=("2*window_size-1",),
        axes=(EIGHT_WINDOWS, DROP_PATH),
    ),
    "beit": _plain(
        axes=(
            (
                Option("use_relative_position_bias and not use_absolute_position_embeddings", _sets(use_relative_position_bias=True)),
                Option("not use_relative_position_bias and use_absolute_position_embeddings", _sets(use_absolute_position_embeddings=True)),
            ),
            DROP_PATH,
        )
    ),
    "data2vec-vision": _plain(
        axes=(
            (
                Option("use_relative_position_bias and not use_absolute_position_embeddings", _sets(use_relative_position_bias=True)),
                Option("not use_relative_position_bias and not use_absolute_position_embeddings", _sets(use_relative_position_bias=False)),
            ),
            DROP_PATH,
        )
    ),
    "dinov2_with_registers": _plain(
        lambda r: {
            k: v for k, v in _encoder(r, mlp_ratio=r.randint(2, 4), num_register_tokens=r.randint(2, 9)).items() if k != "intermediate_size"
        },
        axes=(DROP_PATH, SWIGLU),
        terms=(HEAD, PATCHES, f"2*({PATCHES})-1", f"({PATCHES})*({PATCHES})+1", "(2*hidden_size*mlp_ratio//3+7)//8*8"),
    ),
    "ijepa": _plain(inputs_follow=False),
    "segformer": _images(
        _segformer,
        sizes=_sides(32),
        spelled=r"segformer\.stages|decode_head\.linear_(projections|c)",
        axes=((Option("depths.length == 4", lambda d, s, r: None),), DROP_PATH),
        inputs_follow=True,
        terms=("I//16", "I//32", *(f"hidden_sizes.{k}//num_attention_heads.{k}" for k in range(4))),
    ),
}
