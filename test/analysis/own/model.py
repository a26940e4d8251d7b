"""A model of somebody's own, for the test of traced graphs: a decoder with a tied head, and a network of pictures."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F


@dataclass
class ReaderConfig:
    vocabulary: int = 500
    width: int = 96
    heads: int = 4
    depth: int = 2


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.heads
        self.before, self.between = nn.LayerNorm(config.width), nn.LayerNorm(config.width)
        self.qkv, self.out = nn.Linear(config.width, 3 * config.width), nn.Linear(config.width, config.width)
        self.up, self.down = nn.Linear(config.width, 4 * config.width), nn.Linear(4 * config.width, config.width)

    def forward(self, x):
        b, s, w = x.shape
        q, k, v = (t.view(b, s, self.heads, -1).transpose(1, 2) for t in self.qkv(self.before(x)).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(b, s, w))
        return x + self.down(F.gelu(self.up(self.between(x))))


class Reader(nn.Module):
    def __init__(self, config: ReaderConfig):
        super().__init__()
        self.words = nn.Embedding(config.vocabulary, config.width)
        self.layers = nn.ModuleList([Layer(config) for _ in range(config.depth)])
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)
        self.head.weight = self.words.weight

    def forward(self, idx, targets=None):
        x = self.words(idx)
        for layer in self.layers:
            x = layer(x)
        logits = self.head(x)
        loss = None if targets is None else F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss


class Seer(nn.Module):
    def __init__(self, channels=16, classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, channels, 3, stride=2, padding=1), nn.BatchNorm2d(channels), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(channels, 2 * channels, 3, padding=1), nn.GroupNorm(4, 2 * channels), nn.SiLU())
        self.head = nn.Linear(2 * channels, classes)

    def forward(self, x):
        return self.head(F.adaptive_avg_pool2d(self.body(F.max_pool2d(self.stem(x), 2)), 1).flatten(1))


class Grower(nn.Module):
    """Pictures made larger, normalised by hand."""

    def __init__(self, channels=8):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, channels, 3, padding=1), nn.Conv2d(channels, 3, 3, padding=1)

    def forward(self, x):
        x = self.first(x)
        x = (x - x.mean(dim=1, keepdim=True)) / (torch.var(x, dim=1, unbiased=False, keepdim=True) + 1e-5)
        x = F.interpolate(torch.einsum("bchw->bhwc", x).permute(0, 3, 1, 2), scale_factor=2, mode="nearest")
        return self.last(x)
