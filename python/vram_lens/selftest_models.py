"""Small models with known answers: what tracing must make of them."""

import copy
import torch


class Small(torch.nn.Module):
    """Tokens to a loss, with a tied head."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(50, 16)
        self.mix = torch.nn.Linear(16, 16)
        self.head = torch.nn.Linear(16, 50, bias=False)
        self.head.weight = self.table.weight

    def forward(self, idx, targets):
        x = torch.relu(self.mix(self.table(idx)))
        logits = self.head(x)
        return logits, torch.nn.functional.cross_entropy(logits.view(-1, 50), targets.view(-1))


def traced():
    """A model's inputs are guessed, its graph names the sizes and the tied head."""
    from .tracing import own

    inputs = own.guessed(Small)
    assert " ".join(map(str, inputs)) == "idx=int64[B,S] targets=int64[B,S]", inputs
    graph, facts = own.traced(own.Own(Small, inputs))
    assert facts == {"holds": [], "loss": "returned"}, facts
    assert graph["batch"][0] == {"name": "idx", "shape": ["B", "S"], "dtype": "$int64"}, graph["batch"]
    assert [p["name"] for p in graph["parameters"]] == ["table.weight", "mix.weight", "mix.bias"], graph["parameters"]
    assert graph["tied"] == [{"name": "head.weight", "to": "table.weight", "when": "true"}], graph["tied"]
    assert any("cross_entropy" in str(step.get("op")) for step in graph["main"]["body"]), graph["main"]


class Deciding(torch.nn.Module):
    """Code that branches on values, and casts to a type by its name."""

    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Linear(8, 8)

    def forward(self, x):
        kind = x.type()
        if not (x == 0).all():
            x = x.float() * 2
        return torch.roll(self.mix(x.type(kind)), -int(x.argmax()), -1)


def decided():
    """What code asks of tensors without values is nought, and the graph says where."""
    from .tracing import inputs, own

    graph, facts = own.traced(own.Own(Deciding, inputs.read("x=float[B,8]")))
    assert [one.split(":")[0] for one in facts["holds"]] == ["values taken as 0 in selftest_models.py"], facts
    assert any(step.get("op") == "roll" for step in graph["main"]["body"]), graph["main"]


class Doubled(torch.autograd.Function):
    """A function that asks for what it saved by the name of before."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_variables
        return grad * weight, (grad * x).sum(0)


class Doubling(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(8))

    def forward(self, x):
        return Doubled.apply(x, self.weight)


class Kept(torch.nn.Module):
    """A tensor on the card that is neither parameter nor buffer."""

    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Linear(8, 8)
        self.table = torch.zeros(100, device="cuda" if torch.cuda.is_available() else "cpu")

    def forward(self, x):
        return self.mix(x)


class Sparse(Kept):
    """A sparse buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("picked", torch.eye(5).to_sparse())


def kept():
    """What stands on the card is in the graph, a sparse tensor as its values and its indices; a check follows both."""
    from .running import device
    from .tracing import inputs, own

    shapes = lambda model: {one["name"]: one["shape"] for one in own.traced(own.Own(model, inputs.read("x=float[B,8]")))[0]["buffers"]}
    assert shapes(Kept) == {"table": ["100"]}, shapes(Kept)
    assert shapes(Sparse) == {"picked": ["5"], "picked_indices": ["2", "5"], "table": ["100"]}, shapes(Sparse)
    with device.Device(lambda: ("", "", "", 0)) as ledger:
        there = torch.eye(100).to_sparse().to("cuda")
        assert ledger.live == 2560 and there.is_sparse, ledger.live  # 2 x 100 indices of 8 bytes, 100 values of 4


class Alone(torch.nn.Module):
    """Attention of one token to itself."""

    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Linear(8, 8)

    def forward(self, x):
        q = self.mix(x).view(-1, 2, 1, 4)
        return torch.einsum("bhij,bhjd->bhid", torch.einsum("bhid,bhjd->bhij", q, q).softmax(-1), q)


def alone():
    """Nothing is summed over one place: such a product is made number by number, and batched no more."""
    from .tracing import inputs, own

    graph, _ = own.traced(own.Own(Alone, inputs.read("x=float[B,8]")))
    steps = [step.get("op") for step in graph["main"]["body"]]
    assert steps.count("bmm") == 1 and steps.count("mul.Tensor") == 1, steps


class Windowed(torch.nn.Module):
    """Text in windows of 64 tokens, the last one filled up."""

    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.mix(torch.nn.functional.pad(x, (0, 0, 0, -x.shape[1] % 64)))


def windowed():
    """Steps that are longer than the lengths a graph is recorded at are not taken for none: it holds for these lengths alone."""
    from .tracing import inputs, own

    _, facts = own.traced(own.Own(Windowed, inputs.read("x=float[B,S,8]")))
    assert [one[:3] for one in facts["holds"]] == ["S <"], facts
    _, facts = own.traced(own.Own(Small, inputs.read("idx=int64[B,S] targets=int64[B,S]")))
    assert facts["holds"] == [], facts
    graph, facts = own.traced(own.Own(Windowed, inputs.read("x=float[B,S,8] S=191")))
    assert facts["holds"] == ["S == 191"] and graph["when"] == ["S == 191"], facts


class Resized(torch.nn.Module):
    """A picture made as large as the weights want it, told by how many times as large that is."""

    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Conv2d(3, 4, 3)

    def forward(self, x):
        return self.mix(torch.nn.functional.interpolate(x, scale_factor=64.5 / x.shape[-1]))


class Stepped(torch.nn.Module):
    """As many places as there are steps of a width that follows the length."""

    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Linear(8, 8)

    def forward(self, x):
        places = torch.arange(0, 1.5, 1 / x.shape[1], device=x.device)
        return self.mix(x).sum(1, keepdim=True) * places[None, :, None]


def measured():
    """A float that sizes are made of is not taken for that of the first point: the graph is made for one size, which it says."""
    from .tracing import inputs, own

    for model, text, letter in ((Resized, "x=float[B,3,I,I]", "I"), (Stepped, "x=float[B,S,8]", "S")):
        graph, facts = own.traced(own.Own(model, inputs.read(text)))
        assert [one[:4] for one in graph["when"]] == [f"{letter} =="], (model, facts)


def both_ways():
    """Both directions of an autograd function of somebody's own are seen."""
    from .tracing import inputs, own

    _, facts = own.traced(own.Own(Doubling, inputs.read("x=float[B,8]")))
    assert facts["holds"] == [], facts


class Masked(torch.nn.Module):
    """A mask filled with a number of the device's own, and scores that are held above one of the host's."""

    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Linear(16, 16)

    def forward(self, x):
        least = torch.finfo(x.dtype).min
        mask = torch.full((16, 16), torch.tensor(least, device=x.device), device=x.device)
        return torch.max(self.mix(x) @ mask, torch.tensor(least))


def masked():
    """Numbers that are tensors: on the device they fill, on the host they are operands, not dimensions."""
    from .tracing import inputs, own

    graph, _ = own.traced(own.Own(Masked, inputs.read("x=float[B,16]")))
    steps = [step.get("op") for step in graph["main"]["body"]]
    assert "maximum" in steps and any(str(step).startswith("full") for step in steps), steps


class Spaced(torch.nn.Module):
    """Rates that layers are made with, and places that are calculated with: on the host, and on the device."""

    def __init__(self):
        super().__init__()
        rates = copy.deepcopy(torch.linspace(0, 0.2, 3))
        self.drops = torch.nn.ModuleList(torch.nn.Dropout(rate.item()) for rate in rates[1:])
        self.mix = torch.nn.Linear(16, 16)

    def forward(self, x):
        host, there = torch.linspace(-1, 1, 16), torch.linspace(-1, 1, 16, device=x.device)
        x = self.mix(x) * (1 - host).to(x.device) + torch.outer(there, host[:16].to(x.device))
        return self.drops[1](x)


def spaced():
    """`linspace` is numbers to who reads numbers and a tensor to who calculates with it."""
    from .tracing import inputs, own

    graph, _ = own.traced(own.Own(Spaced, inputs.read("x=float[B,16,16]")))
    steps = [step.get("op") for step in graph["main"]["body"]]
    assert {"outer", "dropout", "linspace"} <= set(steps), steps


class Flat(torch.nn.Module):
    """Attention without heads, and over windows beside its heads."""

    def forward(self, x):
        attend = torch.nn.functional.scaled_dot_product_attention
        x = attend(x, x, x, is_causal=True)
        x = x.unflatten(-1, (2, 8)).unsqueeze(1).transpose(2, 3)
        return attend(x, x, x).transpose(1, 3).flatten(2)


def flat():
    """Attention of three and of five dimensions gives what its operands' shapes say."""
    from .tracing import inputs, own

    graph, facts = own.traced(own.Own(Flat, inputs.read("x=float[B,S,16]")))
    steps = [step.get("op") for step in graph["main"]["body"]]
    assert steps.count("scaled_dot_product_attention") == 2 and facts["holds"] == [], (steps, facts)
