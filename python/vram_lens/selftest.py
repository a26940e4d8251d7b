"""What every PyTorch must be able to do for the rest to be right: small models with known answers. `python -m vram_lens selftest`."""

from .selftest_models import alone, both_ways, decided, flat, kept, masked, measured, spaced, traced, windowed
from .selftest_runs import (
    apart,
    columned,
    drawn,
    ended,
    followed,
    fresh,
    given,
    moved,
    numbered,
    older,
    paged,
    read_once,
    recomputed,
    shown,
    unfetched,
    uninstalled,
    unkept,
)


def bounded():
    """What a script prints reaches the terminal as it is."""
    import io

    from .words import _Bounded

    stream = io.StringIO()
    print("one", 2, file=_Bounded(stream, print))
    assert stream.getvalue() == "one 2\n", stream.getvalue()


def explained():
    """An out-of-memory message is read."""
    from .explain import read

    found = read(
        'Traceback (most recent call last):\n  File "train.py", line 7, in <module>\n    loss.backward()\n'
        '  File "/x/site-packages/torch/_tensor.py", line 1, in backward\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.50 GiB of which 1.00 GiB "
        "is free. Of the allocated memory 20.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated."
    )
    assert found["tried"] == 2 * 2**30 and found["phase"] == "backward" and found["line"] == "train.py:7", found


def placed():
    """Paths are kept with slashes, and whole where they are of another drive of Windows."""
    import ntpath

    from .words import relative

    assert relative("C:\\w\\nets\\model.py", "C:\\w", ntpath) == "nets/model.py"
    assert relative("D:\\nets\\model.py", "C:\\w", ntpath) == "D:/nets/model.py"


def spoken():
    """Every sentence is there in both languages, with the same facts."""
    import string

    from .sentences import SENTENCES

    facts = lambda text: sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)
    assert all(facts(english) == facts(chinese) for english, chinese in SENTENCES.values()), SENTENCES


TESTS = (
    traced,
    decided,
    kept,
    alone,
    windowed,
    measured,
    both_ways,
    uninstalled,
    masked,
    spaced,
    flat,
    drawn,
    given,
    followed,
    moved,
    numbered,
    recomputed,
    older,
    unfetched,
    columned,
    unkept,
    shown,
    read_once,
    bounded,
    explained,
    fresh,
    apart,
    paged,
    ended,
    placed,
    spoken,
)


def run():
    """Runs all; raises on the first that is not so."""
    from .tracing import own

    own.quiet()
    for test in TESTS:
        test()
    return [test.__name__ for test in TESTS]
