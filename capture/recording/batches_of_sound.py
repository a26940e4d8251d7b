"""The tensors the Trainer hands to models of sound."""

import torch
from . import pictures
from .batches_of_pictures import long_zeros, pixel_zeros


def speech_seq2seq(sizes, config):
    """Log-mel frames of the fixed window the encoder is made for (the feature extractor pads to it), and target tokens."""
    if config.model_type in HEARD_WHOLE:
        return {**HEARD_WHOLE[config.model_type](sizes, config), "labels": long_zeros(sizes["B"], sizes["T"])}
    frames = 2 * config.max_source_positions
    return {
        "input_features": torch.zeros(sizes["B"], config.num_mel_bins, frames, device="cuda"),
        "labels": long_zeros(sizes["B"], sizes["T"]),
    }


def waves(sizes, config):
    """Raw samples, and the tokens that are heard in them."""
    return {**recordings(sizes, config), "labels": long_zeros(sizes["B"], sizes["T"])}


def recordings(sizes, config):
    """Whole recordings to tell apart: as the model hears them, samples or frames of a spectrogram."""
    if config.model_type in HEARD_WHOLE:
        heard = HEARD_WHOLE[config.model_type](sizes, config)
    elif config.model_type == "whisper":
        heard = {"input_features": pixel_zeros(sizes["B"], config.num_mel_bins, 2 * config.max_source_positions)}
    elif config.model_type == "audio-spectrogram-transformer":
        heard = {"input_values": pixel_zeros(sizes["B"], config.max_length, config.num_mel_bins)}
    else:
        heard = {"input_values": pixel_zeros(sizes["B"], sizes["A"])}
    return {**heard, "labels": long_zeros(sizes["B"])}


def pairs_of_frames(sizes, config):
    """Pairs of log-mel frames of 25 ms every 10 ms (SeamlessM4TFeatureExtractor)."""
    return {"input_features": pixel_zeros(sizes["B"], (1 + (sizes["A"] - 400) // 160) // 2, config.feature_projection_input_dim)}


def masked_pairs_of_frames(sizes, config):
    """The same with a mask of those that are none of the padding."""
    heard = pairs_of_frames(sizes, config)
    return {**heard, "attention_mask": torch.ones(heard["input_features"].shape[:2], dtype=torch.int32, device="cuda")}


def samples(sizes, config):
    """Raw samples."""
    return {"input_values": pixel_zeros(sizes["B"], sizes["A"])}


def frames(sizes, config):
    """Log-mel frames of 25 ms every 10 ms (Speech2TextFeatureExtractor, Kaldi's without dither)."""
    return {"input_features": pixel_zeros(sizes["B"], 1 + (sizes["A"] - 400) // 160, config.input_feat_per_channel)}


def _masked(count):
    """Frames with a mask of those that are none of the padding."""

    def heard(sizes, config):
        shape = sizes["B"], count(sizes["A"])
        return {
            "input_features": pixel_zeros(*shape, config.encoder_config.num_mel_bins),
            "attention_mask": torch.ones(*shape, dtype=torch.bool, device="cuda"),
        }

    return heard


def told(mask, tokens, dtype=torch.int32, whole=None):
    """As `half_minute` with a mask of the frames, and one of the text's tokens, which the loss is taken by."""

    def heard(sizes, config):
        audio, b, t = config.audio_config, sizes["B"], sizes["T"]
        positions = getattr(audio, "max_source_positions", None) or audio.max_position_embeddings
        pictures.place_wide(b, t, config.text_config.hidden_size, tokens(positions))
        return {
            "input_ids": long_zeros(b, t),
            "input_features": pixel_zeros(b, audio.num_mel_bins, 2 * positions),
            "attention_mask": long_zeros(b, t),
            mask: torch.ones(b, 2 * positions, dtype=dtype, device="cuda"),
        }

    return heard


def half_minute(sizes, config):
    """A recording of thirty seconds in each text, whose length counts the recording's tokens."""
    audio = config.audio_config
    pictures.place_wide(sizes["B"], sizes["T"], config.text_config.hidden_size, audio.max_source_positions // 4)
    return {
        "input_ids": long_zeros(sizes["B"], sizes["T"]),
        "input_features": pixel_zeros(sizes["B"], audio.num_mel_bins, 2 * audio.max_source_positions),
    }


def _after(frames, halvings):
    """Frames behind so many convolutions of three frames with a stride of two."""
    for _ in range(halvings):
        frames = (frames - 1) // 2 + 1
    return frames


def in_chunks(sizes, config):
    """Recordings padded to whole chunks of frames, which are brought to an eighth chunk by chunk (Qwen3ASRFeatureExtractor)."""
    audio, b, t = config.audio_config, sizes["B"], sizes["T"]
    chunk, frames = 2 * audio.n_window, sizes["A"] // 160
    chunks, each = -(-frames // chunk), _after(chunk, 3)
    tokens = each * (frames // chunk) + _after(frames % chunk, 3)
    pictures.stretch(b, tokens, each * (audio.n_window_infer // chunk))
    pictures.place_row(b * chunks * each, b * tokens)
    pictures.place_wide(b, t, config.text_config.hidden_size, tokens)
    return {
        "input_ids": long_zeros(b, t),
        "input_features": pixel_zeros(b, audio.num_mel_bins, chunks * chunk),
        "input_features_mask": torch.ones(b, chunks * chunk, dtype=torch.int32, device="cuda"),
        "attention_mask": long_zeros(b, t),
    }


def in_pieces(sizes, config):
    """Recordings padded to ten times the thirty seconds that the encoder has positions for (the `chunk_length` of 300 in the published
    preprocessor_config.json), whose frames are picked out and cut into pieces (Qwen2_5OmniProcessor)."""
    audio, b, t = config.audio_config, sizes["B"], sizes["T"]
    chunk, frames, most = 2 * audio.n_window, sizes["A"] // 160, 20 * audio.max_source_positions
    length = _after(frames, 1)
    tokens = (length - 2) // 2 + 1
    pictures.stretch(b, length, audio.n_window, b * -(-frames // chunk), min(chunk, frames), tokens)
    pictures.place(b, most, frames)
    return _heard(b, t, audio.num_mel_bins, most)


def _heard(b, t, mels, frames):
    return {
        "input_ids": long_zeros(b, t),
        "input_features": pixel_zeros(b, mels, frames),
        "feature_attention_mask": torch.ones(b, frames, dtype=torch.int32, device="cuda"),
        "attention_mask": long_zeros(b, t),
    }


def stacked_frames(sizes, config):
    """Seven log-mel frames of 25 ms side by side for every six of 10 ms (FunAsrNanoFeatureExtractor, Kaldi's)."""
    audio, b, t = config.audio_config, sizes["B"], sizes["T"]
    frames = -(-(1 + (sizes["A"] - 400) // 160) // 6)
    pictures.place_wide(b, t, config.text_config.hidden_size, frames)
    return {
        "input_ids": long_zeros(b, t),
        "input_features": pixel_zeros(b, frames, audio.input_size),
        "input_features_mask": torch.ones(b, frames, dtype=torch.int32, device="cuda"),
        "attention_mask": long_zeros(b, t),
    }


def as_said(sizes, config):
    """As many frames as the tokens that are written while they are heard (VoxtralRealtimeProcessor)."""
    b, t = sizes["B"], sizes["T"]
    return {
        "input_ids": long_zeros(b, t),
        "input_features": pixel_zeros(b, config.audio_config.num_mel_bins, 2 * config.downsample_factor * t),
        "attention_mask": long_zeros(b, t),
    }


def in_long_chunks(sizes, config):
    """Recordings padded to the longest, whose frames are picked out and cut into chunks (Qwen3OmniMoeProcessor)."""
    audio, b, t = config.audio_config, sizes["B"], sizes["T"]
    chunk, frames = 2 * audio.n_window, sizes["A"] // 160
    tokens = _after(chunk, 3) * (frames // chunk) + _after(frames % chunk, 3)
    pictures.stretch(b, tokens, _after(chunk, 3) * (audio.n_window_infer // chunk), b * -(-frames // chunk), min(chunk, frames), tokens)
    pictures.place(b, frames, frames)
    return _heard(b, t, audio.num_mel_bins, frames)


# How models hear recordings of any length that take no raw samples, or give them another name.
HEARD_WHOLE = {
    **dict.fromkeys(("seamless_m4t", "seamless_m4t_v2"), masked_pairs_of_frames),
    "wav2vec2-bert": pairs_of_frames,
    "speech_to_text": frames,
    "moonshine": samples,
    "voxtral": half_minute,
    "qwen2_audio": told("feature_attention_mask", lambda positions: positions // 2),
    "audioflamingo3": told("input_features_mask", lambda positions: positions // 2),
    "qwen3_asr": in_chunks,
    "fun_asr_nano": stacked_frames,
    "voxtral_realtime": as_said,
    "qwen2_5_omni_thinker": in_pieces,
    "qwen3_omni_moe_thinker": in_long_chunks,
    "glmasr": told("input_features_mask", lambda positions: positions // 4),
    "speecht5": samples,
    "speech-encoder-decoder": samples,
    **dict.fromkeys(("canary", "cohere_asr"), _masked(lambda samples: samples // 160 + 1)),
    "parakeet_ctc": _masked(lambda samples: samples // 160 + 1),  # centred windows (ParakeetFeatureExtractor)
    "lasr_ctc": _masked(lambda samples: (samples - 400) // 160 + 1),  # whole windows (LasrFeatureExtractor)
}
