"""A process group of any size in one process: torch's fake backend, and streams and events of a device that is not there.

What it leaves out: NCCL's own buffers, and the streams' own pools of the caching allocator.
"""

import contextlib

import torch
import torch.distributed as dist
from vram_lens.running import streams


def prepare(oracle):
    """Streams, the local tensors of distributed ones, and storages that are given and take back their memory (`resize_`)."""
    streams.install()
    torch.cuda.current_device = lambda: 0
    torch.cuda.device_count = lambda: 8
    torch.cuda.set_device = lambda *_: None
    # Host memory is not followed, pinned or not.
    torch.Tensor.pin_memory = lambda tensor, *_: tensor
    # Waiting gives back what is waited for; the shapes alone would make another one.
    torch.distributed._functional_collectives.wait_tensor = lambda tensor: tensor
    # Addresses tell whose memory is whose, and that there is any.
    torch.UntypedStorage.data_ptr = lambda storage: storage._cdata if storage.nbytes() else 0
    torch.Tensor.data_ptr = lambda tensor: (
        tensor.untyped_storage().data_ptr() and tensor.untyped_storage().data_ptr() + tensor.storage_offset() * tensor.itemsize
    )
    from torch.distributed.tensor import DTensor

    def local(tensor):
        return tensor._local_tensor if isinstance(tensor, DTensor) else tensor

    see, id_of = oracle.Ledger.see, oracle.Ledger.id_of
    oracle.Ledger.see = lambda self, tensor, operator: see(self, local(tensor), operator)
    oracle.Ledger.id_of = lambda self, tensor: id_of(self, local(tensor))
    dispatch = oracle.Ledger.__torch_dispatch__

    def inside(self, func, types, args=(), kwargs=None):
        """What an operator on distributed tensors runs on local ones is followed, not the operator as a whole."""
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented
        return dispatch(self, func, types, args, kwargs)

    oracle.Ledger.__torch_dispatch__ = inside
    follow_resizing(oracle)
    follow_moves(oracle)
    with_real_meshes()


def follow_moves(oracle):
    """A fake tensor whose data are another's is where these are."""
    from torch._subclasses.fake_tensor import FakeTensor

    data = torch.Tensor.data

    def move(tensor, other):
        data.__set__(tensor, other)
        if isinstance(other, FakeTensor):
            tensor.fake_device = other.fake_device

    FakeTensor.data = property(lambda tensor: data.__get__(tensor), move)


def with_real_meshes():
    """Meshes hold numbers of ranks: real ones, whole ones, also those that a smaller group after forward needs."""
    from torch._subclasses.fake_tensor import unset_fake_temporarily
    from torch.distributed.fsdp._fully_shard import _fully_shard
    from torch.utils._python_dispatch import _disable_current_modes

    tolist = torch.Tensor.tolist

    def whole(tensor):
        numbers = tolist(tensor)
        return numbers if tensor.is_floating_point() else _whole(numbers)

    torch.Tensor.tolist = whole
    info = _fully_shard._get_post_forward_mesh_info

    def outside(*args):
        with unset_fake_temporarily(), _disable_current_modes():
            return info(*args)

    _fully_shard._get_post_forward_mesh_info = outside


def _whole(numbers):
    return [_whole(one) for one in numbers] if isinstance(numbers, list) else int(numbers)


def follow_resizing(oracle):
    """A storage that is resized is another block of the allocator's."""
    resize = torch.UntypedStorage.resize_
    oracle.Ledger.running = None
    enter, leave = oracle.Ledger.__enter__, oracle.Ledger.__exit__

    def entered(self):
        oracle.Ledger.running = self
        return enter(self)

    def left(self, *error):
        oracle.Ledger.running = None
        return leave(self, *error)

    oracle.Ledger.__enter__, oracle.Ledger.__exit__ = entered, left

    def resized(self, size):
        ledger, key = oracle.Ledger.running, self._cdata
        result = resize(self, size)
        if ledger is None or self.device.type == "cpu" or not (size or key in ledger.ids):
            return result
        old = ledger.ids.pop(key, None)
        if old is not None:
            ledger.events.append(("f", old))
            ledger.live -= ledger.size[old]
            ledger.refs.pop(old, None)
        if size:
            new, ledger.n = ledger.n, ledger.n + 1
            ledger.ids[key] = new
            ledger.size[new] = (size + 511) // 512 * 512
            ledger.events.append(("a", new, ledger.size[new], "resize", ledger.phase))
            ledger.live += ledger.size[new]
        return result

    torch.UntypedStorage.resize_ = resized


@contextlib.contextmanager
def of(world, rank=0):
    """A rank of so many."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    try:
        yield
    finally:
        dist.destroy_process_group()
