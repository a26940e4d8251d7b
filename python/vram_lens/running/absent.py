"""What a script names and this machine does not have: a published model's config, its tokenizer, the processor of its pictures."""

import functools
import json
import os
import re

import torch

from ..sentences import say

CONFIG_KEYS_OF_LOADING = (
    "low_cpu_mem_usage",
    "use_safetensors",
    "ignore_mismatched_sizes",
    "quantization_config",
    "max_memory",
    "offload_folder",
)
"""Arguments of `from_pretrained` that are none of a config's."""

CONFIG = ("config.json",)
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "vocab.json", "vocab.txt", "tokenizer.model", "spiece.model")
PROCESSOR = ("preprocessor_config.json", "processor_config.json")

SPECIAL = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
SPECIAL |= {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}

TEMPLATE = (
    "{% for m in messages %}{{ '<s> ' + m['role'] + ' ' }}{% if m['role'] == 'assistant' %}"
    "{% generation %}{{ m['content'] + ' </s> ' }}{% endgeneration %}{% else %}{{ m['content'] + ' </s> ' }}{% endif %}{% endfor %}"
)
"""A form of a conversation: its turns one after another, what the assistant says marked as such."""


def since_5(transformers):
    """Whether this release calls the dtype of weights `dtype`, and loads them in their own where nothing is asked."""
    return int(transformers.__version__.split(".")[0]) >= 5


def of_config(given):
    """The arguments of `from_pretrained` that are the config's."""
    return {k: v for k, v in given.items() if k not in CONFIG_KEYS_OF_LOADING}


class Catalogue:
    """Configs of published models by name, from a file that the caller hands over; empty where there is none."""

    def __init__(self, path):
        self.configs, self.notes = {}, set()
        if path:
            with open(path, encoding="utf-8") as file:
                self.configs = {name.lower(): config for name, config in json.load(file).items()}

    def config(self, name, given):
        """The config that stands in for one that is not here; None where nobody knows it."""
        import transformers

        found = self.configs.get(str(name).lower())
        if found is None:
            return None
        values = {**found, **of_config(given)}
        kind = values.pop("model_type")
        if isinstance(values.get("torch_dtype"), str):
            dtype = getattr(torch, values.pop("torch_dtype"))
            values["dtype" if since_5(transformers) else "torch_dtype"] = dtype
        config = transformers.AutoConfig.for_model(kind, **values)
        config._name_or_path = str(name)
        if not config.architectures:  # trainers that are given a name alone read the class here
            from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as writers

            config.architectures = [writers[kind]] if kind in writers else None
        # which token begins an answer, and which fills it up, changes no size
        if getattr(config, "pad_token_id", 0) is None:
            config.pad_token_id = 0
        if config.is_encoder_decoder and config.decoder_start_token_id is None:
            config.decoder_start_token_id = config.pad_token_id
        self.notes.add(say("stand-in", name=name))
        return config


def install(transformers, catalogue):
    """Gives what is not here a stand-in; what is here is used."""
    _configs(transformers, catalogue)
    _tokenizers(transformers, catalogue)
    _processors(transformers, catalogue)


def here(name, files):
    """Whether a folder, or the hub's cache on this machine, has one of the files of a model."""
    from huggingface_hub import try_to_load_from_cache

    if os.path.isdir(str(name)):
        return True
    try:
        return any(isinstance(try_to_load_from_cache(str(name), file), str) for file in files)
    except ValueError:  # no name of a repository: the library says what it is
        return True


def _otherwise(cls, files, stand_in):
    """`from_pretrained` of a class has a stand-in for a model that none of the files is here of."""
    made = cls.from_pretrained.__func__ if hasattr(cls.from_pretrained, "__func__") else cls.from_pretrained

    @functools.wraps(made)
    def from_pretrained(kind, name, *args, **given):
        found = None if here(name, files) else stand_in(kind, name, given)
        return made(kind, name, *args, **given) if found is None else found

    cls.from_pretrained = classmethod(from_pretrained)


def _configs(transformers, catalogue):
    ours = ("cache_dir", "token", "revision", "trust_remote_code", "local_files_only", "force_download", "subfolder", "use_auth_token")

    def config(kind, name, given):
        unused = given.pop("return_unused_kwargs", False)
        found = catalogue.config(name, {k: v for k, v in given.items() if k not in ours})
        return (found, {}) if unused and found is not None else found

    _otherwise(transformers.AutoConfig, CONFIG, config)
    from transformers import PretrainedConfig

    _otherwise(PretrainedConfig, CONFIG, config)


def _tokenizers(transformers, catalogue):
    def stand_in(kind, name, given):
        config = catalogue.config(name, {})
        return None if config is None else tokenizer(transformers, config)

    def of_text(kind, name, given):
        """The processor of a model that reads text alone is its tokenizer."""
        config = catalogue.config(name, {})
        reads_text = config is not None and not hasattr(config, "vision_config") and not hasattr(config, "audio_config")
        return tokenizer(transformers, config) if reads_text else None

    _otherwise(transformers.AutoTokenizer, TOKENIZER, stand_in)
    _otherwise(transformers.AutoProcessor, (*TOKENIZER, *PROCESSOR), of_text)
    _otherwise(transformers.PreTrainedTokenizerBase, TOKENIZER, stand_in)


def tokenizer(transformers, config):
    """A tokenizer that makes a token of each word, with as many entries as the model has embeddings."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    words = {word: number for number, word in enumerate([*SPECIAL.values(), "a"])}
    made = Tokenizer(models.WordLevel(words, unk_token=SPECIAL["unk_token"]))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()

    class Words(transformers.PreTrainedTokenizerFast):
        """Its length is that of the model's own vocabulary, and what is added comes on top."""

        added = 0

        def __len__(self):
            return getattr(text, "vocab_size", len(words)) + self.added

        def get_vocab(self):
            return _Vocabulary(super().get_vocab())

        def add_tokens(self, new, *args, **given):
            self.added += 1 if isinstance(new, str) else len(new)
            return super().add_tokens(new, *args, **given)

        def add_special_tokens(self, new, *args, **given):
            known = set(self.all_special_tokens)
            values = [v for value in new.values() for v in (value if isinstance(value, list) else [value])]
            self.added += len({str(v) for v in values} - known)
            return super().add_special_tokens(new, *args, **given)

    longest = getattr(text, "max_position_embeddings", None) or int(1e30)
    found = Words(tokenizer_object=made, model_max_length=longest, **SPECIAL)
    found.chat_template = TEMPLATE
    _once(found.backend_tokenizer)
    return found


class _Vocabulary(dict):
    """Words by number, among them every mark (`<|im_end|>`, `[INST]`): which of them the published one has, nobody knows here."""

    def __contains__(self, word):
        return super().__contains__(word) or (isinstance(word, str) and re.fullmatch(r"<.+>|\[.+\]", word) is not None)


def _once(encoder):
    """Equal texts of a batch, as rows that stand in are, are read once: thousands of long ones would take minutes."""
    plainly = encoder.encode_batch

    def encode_batch(texts, *given, **more):
        if len(texts) > 1 and all(text == texts[0] for text in texts):
            return plainly(texts[:1], *given, **more) * len(texts)
        return plainly(texts, *given, **more)

    encoder.encode_batch = encode_batch


def _processors(transformers, catalogue):
    """A processor with the settings that its class has unless told otherwise, of the side that the model is made for."""
    from transformers.models.auto import image_processing_auto as auto

    def pictures(kind, name, given):
        config = catalogue.config(name, {})
        if config is None:
            return None
        classes = auto.IMAGE_PROCESSOR_MAPPING[type(config)]
        classes = classes.values() if isinstance(classes, dict) else classes
        made = next(one for one in classes if one is not None)()
        side, size = getattr(config, "image_size", None), made.size
        sides = size if isinstance(size, dict) else vars(size)  # a class of its own since transformers 5
        if isinstance(side, int) and sides.get("height") and sides.get("width"):
            made.size = type(size)(height=side, width=side)
        return made

    _otherwise(transformers.AutoImageProcessor, PROCESSOR, pictures)
