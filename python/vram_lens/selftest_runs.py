"""What scripts ask while they run where there is no device, and what they must be told."""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode


def uninstalled():
    """An installer that somebody's code starts finds no packages."""
    import subprocess
    import sys

    asked = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--disable-pip-version-check", "colorama==0.4.6"]
    assert subprocess.run(asked, capture_output=True).returncode, "pip would have installed something"


def drawn():
    """A generator of the card is one that says so; random numbers of both have their places."""
    from .running import generators

    host, defaults = torch.Generator, torch.cuda.default_generators
    generators.install()
    try:
        with FakeTensorMode():
            made = torch.Generator("cuda").manual_seed(3)
            assert isinstance(made, host) and made.device.type == "cuda", made.device
            assert torch.randn(4, generator=made, device="cuda").device.type == "cuda"
        assert torch.rand(2, generator=torch.Generator()).device.type == "cpu"
    finally:
        torch.Generator, torch.cuda.default_generators = host, defaults


def given():
    """What a script gives its model is described by the sizes of a run."""
    from .running.first_backward import described

    idx, picture = torch.zeros(4, 9, dtype=torch.int64), torch.zeros(4, 3, 8, 8)
    said = described(lambda idx, images, mask=None, n=1: None, (idx, picture), {"mask": idx.bool(), "n": 2})
    assert " ".join(map(str, said)) == "idx=int64[B,S] images=float[B,3,I,I] mask=bool[B,S] n=2", said


def followed():
    """A storage is counted from birth to death, rounded to 512 bytes."""
    from .running.ledger import Ledger

    ledger = Ledger()
    with FakeTensorMode(), ledger:
        x = torch.zeros(100, device="cuda", requires_grad=True)
        y = x * 2
        y.sum().backward()
        assert ledger.live == 3 * 512, ledger.live  # x, y and x's gradient
        del y
        assert ledger.live == 2 * 512, ledger.live
    assert ledger.peak == 5 * 512, ledger.peak  # x, y, their sum, its gradient, and the gradient of x


def moved():
    """An optimizer that was made before its model was moved has the parameters where they are then."""
    from .running.ledger import move_parameters

    apply, torch.nn.Module._apply = torch.nn.Module._apply, move_parameters
    try:
        with FakeTensorMode():
            layer = torch.nn.Linear(8, 8)
            optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
            layer.to("cuda")(torch.zeros(4, 8, device="cuda")).sum().backward()
            optimizer.step()
            states = [state["momentum_buffer"].device.type for state in optimizer.state.values()]
            assert states == ["cuda", "cuda"], states
    finally:
        torch.nn.Module._apply = apply


def numbered():
    """A device that is named by its number alone is the one that is not there."""
    if torch.version.cuda is None:
        return  # a build for the host alone knows no such numbers
    assert torch.device(0).type == "cuda"
    with FakeTensorMode():
        assert torch.zeros(2).to(0).device.type == "cuda"


def recomputed():
    """Checkpoints are recomputed on the device that is not there."""
    from torch.utils.checkpoint import checkpoint

    with FakeTensorMode():
        layer = torch.nn.Linear(8, 8, device="cuda")
        for reentrant in (False, True):
            x = torch.zeros(4, 8, device="cuda", requires_grad=True)
            checkpoint(lambda t: torch.relu(layer(t)), x, use_reentrant=reentrant).sum().backward()
            assert x.grad is not None


def older():
    """Tensors that older scripts make by their type are on the device, and are cast to it."""
    from .running import legacy

    cast = torch.Tensor.type
    legacy.install()
    try:
        with FakeTensorMode():
            made = torch.cuda.FloatTensor(2, 3)
            whole = made.type(torch.cuda.LongTensor)
        assert (tuple(made.shape), made.device.type, whole.dtype) == ((2, 3), "cuda", torch.int64), (made, whole)
        assert isinstance(made, torch.cuda.FloatTensor) and not isinstance(whole, torch.cuda.FloatTensor)
    finally:
        torch.Tensor.type = cast


def unfetched():
    """A model that would have published weights stays as it is made; a metric that is not here counts nothing."""
    import types

    from .running import pictures

    load, hub = torch.nn.Module.load_state_dict, torch.hub.load_state_dict_from_url

    def missing(path):
        raise OSError(path)

    evaluate, notes = types.SimpleNamespace(load=missing), set()
    pictures.weights(notes)
    pictures.metrics(evaluate, notes)
    try:
        torch.nn.Linear(2, 2).load_state_dict(torch.hub.load_state_dict_from_url("https://example.org/a.pth"))
        assert evaluate.load("accuracy").compute() == {}
        assert len(notes) == 2, notes
    finally:
        torch.nn.Module.load_state_dict, torch.hub.load_state_dict_from_url = load, hub


def columned():
    """Columns of stand-in rows are those that a script reads of its rows, not what it reads of its settings or makes itself."""
    from .running import rows

    source = b"""
config = {"lr": 2e-5}
text_column = "Tweet text"
data = load_dataset("x")
data = data.map(lambda x: {"text_label": x["Label"], "plain": x["plain"].strip()})
data = data.map(lambda x: tokenizer(x[text_column], x["text_label"]))
rate = config["lr"], os.environ["RANK"]
"""
    assert set(rows.columns(source)) == {"Label", "plain", "Tweet text"}, rows.columns(source)


def unkept():
    """A tracker that is not installed answers who uses it, and is not there for libraries that look for one."""
    import importlib.util
    import sys

    from .running import quiet

    notes = set()
    quiet.trackers(lambda file: file == "train.py", notes)
    try:
        code = "import visdom.server\nwith visdom.init(project='x') as run: run.log({'loss': 1}); run.config['a'].update(b=2)"
        assert importlib.util.find_spec("visdom") is None
        exec(compile(code, "train.py", "exec"), {})
        assert len(notes) == 1, notes
    finally:
        sys.meta_path.pop()
        for name in ("visdom", "visdom.server"):
            sys.modules.pop(name, None)


def shown():
    """A script that asks for the terminal's width is told one, and one that asks a person is told that nobody is there."""
    import os

    from .running import quiet

    with quiet.terminal():
        if hasattr(os, "openpty"):
            assert os.popen("stty size").read().split() == ["24", "80"] or os.isatty(0)
        try:
            input()
        except EOFError:
            return
        raise AssertionError("somebody answered")


def read_once():
    """Equal texts of a batch are read once."""
    import types

    from .running import absent

    read = []
    encoder = types.SimpleNamespace(encode_batch=lambda texts: read.extend(texts) or [len(t) for t in texts])
    absent._once(encoder)
    assert encoder.encode_batch(["a b"] * 9) == [3] * 9 and read == ["a b"], read
    assert encoder.encode_batch(["a", "bb"]) == [1, 2]


FRESH = """import torch

class Fresh(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.mix(x)
"""


def fresh():
    """The command traces in a process of its own, where nothing of torch was imported before it."""
    import os
    import subprocess
    import sys
    import tempfile

    around = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (around, os.environ.get("PYTHONPATH"))))}
    with tempfile.TemporaryDirectory() as root:
        with open(os.path.join(root, "fresh.py"), "w") as file:
            file.write(FRESH)
        command = [sys.executable, "-m", "vram_lens", "trace", "fresh.py:Fresh"]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr[-600:]
        assert os.path.isfile(os.path.join(root, ".vramlens", "graphs", "Fresh.json")), done.stdout


def apart():
    """A script changes nothing that is there, removes nothing, and asks no network; what is new it makes."""
    import os
    import socket
    import tempfile

    from .running import outside

    notes = set()
    with tempfile.TemporaryDirectory() as root:
        there, new, other = (os.path.join(root, name) for name in ("best.pt", "new.txt", "other.txt"))
        for path in (there, other):
            with open(path, "w") as file:
                file.write("before")
        with outside.closed(root, notes):
            with open(there, "a") as file:
                file.write(", after")
            with open(there) as file:
                assert file.read() == "before, after"
            os.remove(other)
            for path in (new, f"{new}.gone"):
                with open(path, "w") as file:
                    file.write("new")
            os.remove(f"{new}.gone")
            with open(os.dup(1), "w"):  # a file by its number, as loggers of other processes have
                pass
            os.replace(new, other)
            with open(other) as file:
                assert file.read() == "new"
            for ask in (lambda: socket.getaddrinfo("example.org", 80), lambda: socket.create_connection(("192.0.2.1", 80))):
                try:
                    ask()
                except OSError as error:
                    assert "no network" in str(error), error
                else:
                    raise AssertionError("the network was asked")
            socket.getaddrinfo("localhost", 80)
        for path in (there, other):
            with open(path) as file:
                assert file.read() == "before", path
        assert sorted(os.listdir(root)) == ["best.pt", "other.txt"], os.listdir(root)
    assert len(notes) == 3 and any("example.org, 192.0.2.1" in note for note in notes), notes


def paged():
    """States that bitsandbytes has the driver move stand on the host, and nothing asks the driver."""
    import types

    from .running import packed

    functional = types.SimpleNamespace(fill=None)
    packed.paged(functional)
    state = functional.get_paged(3, 5, device=torch.device("cuda", 0))
    assert (state.device.type, tuple(state.shape), state.is_paged, state.page_deviceid) == ("cpu", (3, 5), True, 0), state
    assert functional.fill(state, 0) is None


def ended():
    """What was started ends, where its parent has ended and it has left the group, too."""
    import os
    import subprocess
    import sys
    import time

    from . import started

    if os.name != "posix":
        return
    started.adopt()
    sleeper = f"{sys.executable} -c 'import time; time.sleep(600)'"
    made = subprocess.run(["sh", "-c", f"{sleeper} >&2 & echo $!"], stdout=subprocess.PIPE, text=True, start_new_session=True, check=True)
    time.sleep(0.1)
    started.end()
    if sys.platform == "linux":
        assert not os.path.exists(f"/proc/{int(made.stdout)}"), made.stdout
