"""
Writes small snapshots with the structure of `torch.cuda.memory._dump_snapshot` (torch/cuda/memory.py, `_snapshot`, 2.11):
two training steps of a small model on fake CUDA tensors, every storage from birth to death with the Python stack that made it,
placed in segments as the caching allocator opens them. No GPU is needed.

usage: LD_PRELOAD=fakecuda.so python test/evidence/snapshot/make.py FOLDER
"""

import pickle
import sys
import traceback
import weakref
from pathlib import Path

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

MIB = 2**20
SKIPPED = ("/_python_dispatch.py", "/fake_tensor.py", "/_pytree.py", "/_stats.py", "/eval_frame.py", "/_compile.py", "snapshot/make.py")


class Pool:
    """Segments and blocks: best fit, split where the rest is worth it, joined when freed."""

    def __init__(self):
        self.segments = []
        self.entries = []
        self.next = 0x7F0000000000
        self.clock = 1_700_000_000_000_000

    def record(self, action, address, size, frames):
        self.clock += 7
        self.entries.append(
            {"action": action, "addr": address, "size": size, "stream": 0, "time_us": self.clock, "frames": frames}
        )

    def allocate(self, requested, frames):
        size = -(-max(requested, 1) // 512) * 512
        small = size <= MIB
        found = [
            (block["size"], segment, block)
            for segment in self.segments
            if (segment["segment_type"] == "small") == small
            for block in segment["blocks"]
            if block["state"] == "inactive" and block["size"] >= size
        ]
        if found:
            _, segment, block = min(found, key=lambda one: (one[0], one[2]["address"]))
        else:
            total = 2 * MIB if small else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
            block = {"address": self.next, "size": total, "requested_size": 0, "state": "inactive", "frames": []}
            segment = {
                "device": 0,
                "address": self.next,
                "total_size": total,
                "stream": 0,
                "segment_type": "small" if small else "large",
                "segment_pool_id": (0, 0),
                "is_expandable": False,
                "frames": [],
                "blocks": [block],
            }
            self.next += total
            self.segments.append(segment)
            self.record("segment_alloc", segment["address"], total, frames)
        rest = block["size"] - size
        if rest >= (512 if small else MIB + 1):
            at = segment["blocks"].index(block)
            segment["blocks"].insert(
                at + 1,
                {"address": block["address"] + size, "size": rest, "requested_size": 0, "state": "inactive", "frames": []},
            )
            block["size"] = size
        block.update(state="active_allocated", requested_size=requested, frames=frames)
        self.record("alloc", block["address"], block["size"], frames)
        return segment, block

    def free(self, segment, block):
        self.record("free_requested", block["address"], block["size"], [])
        self.record("free_completed", block["address"], block["size"], [])
        block.update(state="inactive", requested_size=0, frames=[])
        blocks = segment["blocks"]
        at = blocks.index(block)
        for index in (at, at - 1):
            if 0 <= index < len(blocks) - 1:
                left, right = blocks[index], blocks[index + 1]
                if left["state"] == right["state"] == "inactive":
                    left["size"] += right["size"]
                    blocks.pop(index + 1)

    def snapshot(self):
        for segment in self.segments:
            used = sum(block["size"] for block in segment["blocks"] if block["state"] != "inactive")
            segment.update(allocated_size=used, active_size=used, requested_size=used)
        return {
            "segments": self.segments,
            "device_traces": [self.entries],
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "expandable_segments": False},
            "external_annotations": [],
        }


class Recorder(TorchDispatchMode):
    """Sees every storage that an operator makes."""

    def __init__(self, pool):
        super().__init__()
        self.pool = pool
        self.known = weakref.WeakKeyDictionary()
        self.frames = {}

    def stack(self):
        frames = []
        for one in reversed(traceback.extract_stack()):
            if any(part in one.filename for part in SKIPPED):
                continue
            name = one.filename.replace(str(Path(torch.__file__).parent), "/env/torch")
            name = name.replace(str(Path(__file__).parent), "/w")
            key = (name, one.lineno, one.name)
            self.frames.setdefault(key, {"filename": key[0], "line": key[1], "name": key[2]})
            frames.append(self.frames[key])
        return frames

    def see(self, tensor):
        if not isinstance(tensor, torch.Tensor) or tensor.device.type != "cuda":
            return
        storage = tensor.untyped_storage()
        if storage in self.known or storage.nbytes() == 0:
            return
        placed = self.pool.allocate(storage.nbytes(), self.stack())
        self.known[storage] = True
        weakref.finalize(storage, self.pool.free, *placed)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for leaf in tree_iter(out):
            self.see(leaf)
        return out


SOURCE = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))

class Model(nn.Module):
    def __init__(self, width, words, depth):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)

def build_model(device):
    with torch.device(device):
        return Model(512, 8000, 3)

def train_one_epoch(model, optimizer, ids, steps):
    for _ in range(steps):
        logits = model(ids)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        del logits, loss
"""


def main():
    folder = Path(sys.argv[1])
    scope = {"__name__": "train"}
    exec(compile(SOURCE, "/w/train.py", "exec"), scope)
    pool = Pool()
    with FakeTensorMode(), Recorder(pool):
        model = scope["build_model"]("cuda")
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        ids = torch.zeros(4, 256, dtype=torch.long, device="cuda")
        scope["train_one_epoch"](model, optimizer, ids, 2)
        whole = pool.snapshot()
        whole["device_traces"][0].append(
            {"action": "oom", "size": 512 * MIB, "device_free": 100 * MIB, "stream": 0, "time_us": 1, "frames": []}
        )
        (folder / "step.pickle").write_bytes(pickle.dumps(whole))


if __name__ == "__main__":
    main()
