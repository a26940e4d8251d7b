"""Families that pair an encoder and a decoder of other families in one config: how to draw their config keys (see family.py)."""

from . import pictures, pictures_and_text_configs
from .family import Family, Option
from .shared import bert, gpt2, vit
from .pictures import _swin
from .usual_keys import ACTIVATIONS, drop

LABELS = ("num_labels",)
WRITES = dict(is_decoder=True, add_cross_attention=True)  # as `from_encoder_decoder_configs` sets them


def part(kind, dims, **more):
    """The config of one side, without what only a model by itself has."""
    return {"model_type": kind, **{k: v for k, v in dims.items() if k not in LABELS}, **more}


def wide(r, d, width, heads="num_attention_heads", hidden="hidden_size"):
    """The config brought to another width, with any number of heads that divides it: what is one head wide must not be told by the width."""
    return {**d, heads: r.choice([n for n in range(2, 13) if width % (2 * n) == 0]), hidden: width}


def patches(kind):
    """Patches of a square picture."""
    return lambda r: part(kind, vit(r))


def document(r):
    """Windows over pages, of which none needs padding and the last stage has several (Donut, Nougat)."""
    d = _swin(r)
    step = 8 * d["patch_size"] * d["window_size"]
    return part("donut-swin", {**d, "image_size": [step * r.randint(2, 3), step * r.randint(4, 5)]})


def reading(r):
    """A decoder in the keys of encoder-decoders."""
    heads = r.randint(3, 6)
    return dict(
        d_model=heads * 8 * r.randint(1, 4),
        decoder_attention_heads=heads,
        decoder_layers=r.randint(3, 4),
        decoder_ffn_dim=r.randint(40, 240),
        vocab_size=r.randint(200, 900),
        max_position_embeddings=r.randint(400, 500),
        dropout=drop(r),
        attention_dropout=drop(r),
        activation_dropout=drop(r),
        activation_function=r.choice(ACTIVATIONS),
        tie_word_embeddings=r.random() < 0.5,
    )


def writing(kind, dims):
    """A text model that reads the other side, too."""
    return lambda r: part(kind, dims(r), **WRITES)


READERS = {"bert": lambda r: part("bert", bert(r)), "roberta": lambda r: part("roberta", bert(r))}
ENCODERS = {"vit": patches("vit"), "deit": patches("deit"), "donut-swin": document}
DECODERS = {
    kind: writing(kind, dims) for kind, dims in (("trocr", reading), ("gpt2", gpt2), ("bert", bert), ("roberta", bert), ("mbart", reading))
}
WIDTH = {"trocr": "d_model", "gpt2": "n_embd", "mbart": "d_model"}


def of_parts(pairs, encoders, conditions):
    """One branch for each published pair, of one width and of two."""

    def sides(encoder, decoder, own, change):
        def drawn(d, s, r):
            d["encoder"], d["decoder"] = encoders[encoder](r), DECODERS[decoder](r)
            change(d, s, r)

        return Option(" and ".join((f"encoder.model_type == '{encoder}' and decoder.model_type == '{decoder}'", *own)), drawn)

    return tuple(sides(e, d, own, change) for e, d in pairs for own, change in conditions(e, d))


HIDDEN = {"donut-swin": "encoder.embed_dim*8"}


def widths(encoder, decoder):
    """What the decoder reads: states of a width that it is told, of its own, or projected to it."""
    key = WIDTH.get(decoder, "hidden_size")
    read, own = HIDDEN.get(encoder, "encoder.hidden_size"), f"decoder.{key}"

    def told(d, s, r):
        e = d["encoder"]
        d["decoder"]["cross_attention_hidden_size"] = e.get("hidden_size", e.get("embed_dim", 0) * 8)

    def same(d, s, r):
        width = 24 * r.randint(2, 6)
        e, o = d["encoder"], d["decoder"]
        if encoder == "donut-swin":
            width = e["embed_dim"] * 8
        else:
            e.update(wide(r, e, width))
        o.update(wide(r, o, width, next(k for k in ("n_head", "decoder_attention_heads", "num_attention_heads") if k in o), key))

    whole = (
        (
            "encoder.image_size.0 % (8*encoder.patch_size*encoder.window_size) == 0 and encoder.image_size.1 % (8*encoder.patch_size*encoder.window_size) == 0 "
            "and min(encoder.image_size.0,encoder.image_size.1) > 8*encoder.patch_size*encoder.window_size and encoder.depths.length == 4",
        )
        if encoder == "donut-swin"
        else ()
    )
    if decoder == "trocr":
        for learned in (True, False):  # printed texts are read with positions that are counted (convert_trocr_unilm_to_pytorch.py)
            switches = (
                ("" if learned else "not ") + "decoder.use_learned_position_embeddings",
                ("" if learned else "not ") + "decoder.layernorm_embedding",
            )
            yield (
                ("decoder.cross_attention_hidden_size != null", *switches),
                lambda d, s, r, on=learned: (
                    told(d, s, r),
                    d["decoder"].update(use_learned_position_embeddings=on, layernorm_embedding=on),
                ),
            )
    else:
        yield (f"{read} == {own}", *whole), same
        yield (f"{read} != {own}", *whole), lambda d, s, r: None


PAGES = (("vit", "trocr"), ("deit", "trocr"), ("donut-swin", "mbart"), ("vit", "gpt2"), ("vit", "bert"), ("vit", "roberta"))


def of_two(encoder, decoder):
    return lambda r: dict(pad_token_id=0, decoder_start_token_id=1, encoder=encoder(r), decoder=DECODERS[decoder](r))


def _targets(d, s, r):
    """Nothing is read but the picture."""
    s.pop("S")
    s["T"] = r.randint(11, 40)


def sides(r):
    """Two stacks of Gemma 2's layers, of widths and depths of their own."""

    def side():
        kv, groups, width = r.randint(2, 4), r.choice((2, 3)), 8 * r.randint(1, 4)
        return dict(
            hidden_size=kv * groups * width,
            intermediate_size=r.randint(40, 240),
            num_hidden_layers=r.randint(3, 4),
            num_attention_heads=kv * groups,
            num_key_value_heads=kv,
            head_dim=width + 8 * r.randint(1, 3),
            hidden_activation=r.choice(ACTIVATIONS),
            max_position_embeddings=r.randint(100, 200),
            vocab_size=r.randint(200, 900),
            attention_bias=r.random() < 0.5,
        )

    encoder, decoder = side(), side()
    return dict(
        encoder=encoder,
        decoder=decoder | {"vocab_size": encoder["vocab_size"]},
        dropout_rate=drop(r),
        attention_dropout=drop(r),
        tie_word_embeddings=r.random() < 0.5,
    )


def beside_pictures(r):
    """The same with keys and values of both sides in one attention, and an encoder of pictures beside the text's (T5Gemma 2)."""
    d = sides(r)
    read, written = d["encoder"], d["decoder"]
    for side in (read, written):
        side.update(
            num_hidden_layers=r.randint(6, 7),
            hidden_size=read["hidden_size"],
            num_attention_heads=read["num_attention_heads"],
            num_key_value_heads=read["num_key_value_heads"],
            head_dim=read["head_dim"],
        )
    vision = {
        k: v for k, v in pictures_and_text_configs.tower_side(r, "siglip_vision_model")["vision_config"].items() if k != "attention_dropout"
    }
    return d | dict(encoder=dict(text_config=read, vision_config=vision))


def windowed(inside, reads="encoder"):
    """Windows of either side above or below what it reads or writes."""
    of = (reads, "S"), ("decoder", "T")

    def change(d, s, r):
        read = d["encoder"] if reads == "encoder" else d["encoder"]["text_config"]
        for side, size, whole in zip((read, d["decoder"]), "ST", inside):
            side["sliding_window"] = s[size] + r.randint(1, 40) if whole else s[size] - r.randint(0, 6)

    return Option(" and ".join(f"{size} {'<' if whole else '>='} {side}.sliding_window" for (side, size), whole in zip(of, inside)), change)


EITHER = tuple((read, written) for read in (True, False) for written in (True, False))
BOTH = tuple(map(windowed, EITHER))


def florence(r):
    """Windows and channels that attend in turn over a picture, before the encoder of BART."""
    heads = [r.randint(1, 3) * k for k in (1, 2, 4, 8)]
    groups = [h * r.randint(1, 2) for h in heads]
    widths = [8 * h * r.randint(1, 2) * g // h for h, g in zip(heads, groups)]
    own = {
        **reading(r),
        **dict(
            encoder_layers=r.randint(3, 4),
            encoder_attention_heads=4,
            decoder_attention_heads=6,
            d_model=24 * r.randint(2, 6),
            encoder_ffn_dim=r.randint(241, 400),
        ),
    }
    own.pop("tie_word_embeddings")
    vision = dict(
        depths=[r.randint(2, 4) for _ in range(4)],
        embed_dim=widths,
        num_heads=heads,
        num_groups=groups,
        window_size=r.randint(3, 5),
        drop_path_rate=drop(r),
        activation_function=r.choice(ACTIVATIONS),
        projection_dim=own["d_model"],
        max_temporal_embeddings=r.randint(100, 150),
        max_position_embeddings=r.randint(20, 50),
        qkv_bias=r.random() < 0.5,
    )
    return dict(text_config={"model_type": "bart", **own}, vision_config=vision, image_token_id=1, tie_word_embeddings=r.random() < 0.5)


def _whole_windows(d, s, r):
    s["I"] = 32 * d["vision_config"]["window_size"] * r.randint(1, 2)
    s["T"] = r.randint(11, 40)


SQUARES = tuple(f"I//{k}" for k in (4, 8, 16, 32))
FOUR = (
    Option(
        "vision_config.depths.length == 4 and I % (32*vision_config.window_size) == 0 and vision_config.drop_path_rate > 0 and text_config.model_type == 'bart' and vision_config.patch_stride.0 == 4",
        lambda d, s, r: None,
    ),
)
STAGES = tuple(f"encoder.image_size.{side}//encoder.patch_size//{k}" for side in (0, 1) for k in (1, 2, 4, 8))
PLACES = tuple(f"({high})*({wide})" for high, wide in zip(STAGES[:4], STAGES[4:]))
WINDOWS = tuple(f"{places}//(encoder.window_size*encoder.window_size)" for places in PLACES)
READ = (("bert", "bert"), ("roberta", "roberta"), ("bert", "gpt2"), ("roberta", "gpt2"))
ALONE = (
    Option(
        "use_learned_position_embeddings and layernorm_embedding",
        lambda d, s, r: d.update(use_learned_position_embeddings=True, layernorm_embedding=True),
    ),
    Option(
        "not use_learned_position_embeddings and not layernorm_embedding",
        lambda d, s, r: d.update(use_learned_position_embeddings=False, layernorm_embedding=False),
    ),
)
FAMILIES = {
    "t5gemma2": Family(
        beside_pictures,
        tasks=("seq2seq-lm",),
        points=4,
        axes=(
            tuple(windowed(inside, "encoder.text_config") for inside in EITHER),
            (Option("encoder.text_config.num_key_value_heads != encoder.text_config.num_attention_heads", lambda d, s, r: None),),
        ),
        terms=("encoder.vision_config.image_size//encoder.vision_config.patch_size",),
    ),
    "trocr": Family(
        reading, tasks=("causal-lm",), attention=("eager",), points=4, axes=(ALONE,), terms=("d_model//decoder_attention_heads",)
    ),
    "donut-swin": pictures._images(
        _swin,
        attention=("none",),
        sizes=pictures._own_side,
        inputs_follow=True,
        spelled=r"donut\.encoder\.layers",
        hidden=("I", "image_size"),
        terms=("2*window_size-1", *(f"{n}*window_size-window_size//2" for n in (2, 4, 8))),
        axes=(pictures.EIGHT_WINDOWS, pictures.DROP_PATH),
    ),
    "encoder-decoder": Family(
        of_two(READERS["bert"], "bert"),
        tasks=("seq2seq-lm",),
        points=3,
        axes=(of_parts(READ, READERS, widths),),
        parts={"encoder": READERS, "decoder": {k: DECODERS[k] for k in ("bert", "roberta", "gpt2")}},
        terms=(
            "encoder.hidden_size//encoder.num_attention_heads",
            "decoder.hidden_size//decoder.num_attention_heads",
            "decoder.n_embd//decoder.n_head",
        ),
    ),
    "florence2": Family(
        florence,
        tasks=("image-text-to-text",),
        points=4,
        axes=(FOUR,),
        sizes=_whole_windows,
        spelled=r".*vision_tower\.(convs|blocks)",
        terms=(
            *SQUARES,
            *(f"({q})*({q})" for q in SQUARES),
            *(f"{q}//vision_config.window_size" for q in SQUARES),
            *(f"vision_config.embed_dim.{k}//vision_config.num_{by}.{k}" for k in range(4) for by in ("heads", "groups")),
            "text_config.d_model//text_config.encoder_attention_heads",
            "text_config.d_model//text_config.decoder_attention_heads",
        ),
    ),
    "t5gemma": Family(
        sides,
        tasks=("seq2seq-lm",),
        points=4,
        axes=(
            BOTH,
            (
                Option(
                    "encoder.num_key_value_heads != encoder.num_attention_heads and decoder.num_key_value_heads != decoder.num_attention_heads",
                    lambda d, s, r: None,
                ),
            ),
        ),
        derived={"decoder.cross_attention_hidden_size": "encoder.hidden_size"},
    ),
    "vision-encoder-decoder": Family(
        of_two(ENCODERS["vit"], "gpt2"),
        tasks=("image-text-to-text",),
        points=3,
        inputs_follow=lambda d: d["encoder"]["model_type"] == "donut-swin",
        axes=(of_parts(PAGES, ENCODERS, widths),),
        spelled=r"encoder\.encoder\.layers",
        hidden=("I",),
        sizes=_targets,
        parts={"encoder": ENCODERS, "decoder": DECODERS},
        terms=(
            "encoder.hidden_size//encoder.num_attention_heads",
            "encoder.image_size//encoder.patch_size",
            "decoder.hidden_size//decoder.num_attention_heads",
            "decoder.n_embd//decoder.n_head",
            "decoder.d_model//decoder.decoder_attention_heads",
            *STAGES,
            *PLACES,
            *WINDOWS,
            "2*encoder.window_size-1",
            *(f"{t}-encoder.window_size//2" for t in STAGES),
        ),
    ),
}
