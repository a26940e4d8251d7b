"""`torch.Generator` of a card that is not there: C++ asks the driver for its numbers, which nobody reads."""

import torch


def install():
    """Has a generator of the card be one of the host's that says it is the card's."""
    host = torch.Generator
    if hasattr(host, "on_card"):
        return

    class Generator(host):
        on_card = False

        def __new__(cls, device="cpu"):
            made = super().__new__(cls, "cpu" if torch.device(device).type == "cuda" else device)
            made.on_card = torch.device(device).type == "cuda"
            return made

        @property
        def device(self):
            return torch.device("cuda", 0) if self.on_card else super().device

    torch.Generator = Generator
    torch.cuda.default_generators = (Generator("cuda"),)
