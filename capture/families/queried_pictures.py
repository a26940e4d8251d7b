"""Pictures that a few learned queries read for the text (BLIP, Perceiver): how to draw their config keys (see family.py)."""

from .language import FAMILIES as TEXTS
from .family import Option
from .usual_keys import ACTIVATIONS, drop
from .pictures_and_text_configs import text_side, tower_side


def plain_text(r, **more):
    """A text side with as many keys as queries."""
    heads, width = r.randint(3, 6), 8 * r.randint(1, 4)
    return dict(
        num_attention_heads=heads,
        hidden_size=heads * width,
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=r.randint(40, 240),
        vocab_size=r.randint(200, 900),
        max_position_embeddings=r.randint(400, 500),
        hidden_act=r.choice(ACTIVATIONS),
        hidden_dropout_prob=drop(r),
        attention_probs_dropout_prob=drop(r),
        **more,
    )


def captions(r):
    """A decoder that looks at the picture by cross attention."""
    vision = tower_side(r, "blip_vision_model")["vision_config"]
    text = plain_text(
        r,
        pad_token_id=0,
        is_decoder=True,
        encoder_hidden_size=vision["hidden_size"],
        projection_dim=r.randint(20, 40),
        tie_word_embeddings=r.random() < 0.5,
    )
    for side in (vision,):
        side.pop("model_type")
    return dict(text_config=text, vision_config=vision, projection_dim=r.randint(20, 40), tie_word_embeddings=r.random() < 0.5)


def by_t5(r):
    """Text of T5's: an encoder that reads the picture's tokens with the text, and a decoder."""
    return {
        **TEXTS["t5"].dims(r),
        "model_type": "t5",
        "feed_forward_proj": r.choice(("gated-gelu", "gated-silu")),
        "tie_word_embeddings": False,
        "pad_token_id": 0,
    }


def by_llama(r):
    """Text of Vicuna's."""
    own = text_side(r, attention_dropout=drop(r), model_type="llama", tie_word_embeddings=r.random() < 0.5)
    return {**own, "num_key_value_heads": own["num_attention_heads"]}


def written_by(when, dims):
    """A branch whose text side is of another family."""
    return Option(f"{when} and qformer_config.cross_attention_frequency == 2", lambda d, s, r: d.update(text_config=dims(r)))


def queried(r):
    """A small transformer asks the picture for a few tokens, which stand in the text."""
    heads, width = r.randint(3, 6), 8 * r.randint(1, 4)
    vision = tower_side(r, "blip_2_vision_model")["vision_config"]
    vision.pop("model_type")
    small = dict(
        num_attention_heads=heads,
        hidden_size=heads * width,
        num_hidden_layers=2 * r.randint(2, 3),
        intermediate_size=r.randint(40, 240),
        hidden_dropout_prob=drop(r),
        attention_probs_dropout_prob=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
        encoder_hidden_size=vision["hidden_size"],
        vocab_size=r.randint(200, 900),
        max_position_embeddings=r.randint(100, 200),
    )
    n, wide = r.randint(3, 6), 8 * r.randint(1, 4)
    text = dict(
        model_type="opt",
        num_attention_heads=n,
        hidden_size=n * wide,
        word_embed_proj_dim=n * wide,
        ffn_dim=r.randint(40, 240),
        num_hidden_layers=r.randint(3, 4),
        vocab_size=r.randint(200, 900),
        max_position_embeddings=r.randint(400, 500),
        dropout=drop(r),
        attention_dropout=drop(r),
        activation_function=r.choice(ACTIVATIONS),
        tie_word_embeddings=r.random() < 0.5,
    )
    return dict(vision_config=vision, qformer_config=small, text_config=text, num_query_tokens=r.randint(9, 30), image_token_index=1)


def resampled(r):
    """Tiles of any number a picture, each asked for a few tokens by a small transformer."""
    text, vision = (
        text_side(r, attention_dropout=drop(r), model_type="mistral", sliding_window=None, head_dim=8 * r.randint(5, 8)),
        tower_side(r, "idefics2_vision")["vision_config"],
    )
    vision.pop("model_type")
    kv, groups = r.randint(1, 3), r.choice((2, 3))
    perceiver = dict(
        hidden_size=text["hidden_size"],
        resampler_n_latents=r.randint(9, 30),
        resampler_depth=r.randint(3, 4),
        resampler_n_heads=kv * groups,
        num_key_value_heads=kv,
        resampler_head_dim=8 * r.randint(1, 4),
        attention_dropout=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
    )
    return dict(text_config=text, vision_config=vision, perceiver_config=perceiver, image_token_id=1, tie_word_embeddings=r.random() < 0.5)
