"""usage: python -m vram_lens trace|check|watch|explain|bench ..."""

import argparse
import os
import sys

from . import __version__, started
from .sentences import say
from .words import BAD_USAGE, Speech, Stopped, one_line

COMMANDS = ("trace", "check", "watch", "explain", "bench", "selftest")


def parser():
    """The command line."""
    top = argparse.ArgumentParser(
        prog="python -m vram_lens",
        description="What training takes of a GPU, from your own code and your own PyTorch. Only `watch` and `bench` use a card.",
    )
    top.add_argument("--version", action="version", version=f"vram_lens {__version__}")
    of = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    trace = of.add_parser(
        "trace",
        help="make a graph of a model of your own, for estimates in the editor and on the command line",
        description="Runs the model's forward on fake tensors (no GPU, no memory) at several sizes and writes what it does to "
        ".vramlens/graphs/NAME.json. The file is imported, which runs its top level.",
    )
    trace.add_argument("entry", metavar="FILE[:MODEL]", help="a class, a function that makes the model, or a call: model.py:'GPT(Config())'; "
                       "a folder with a config.json whose `auto_map` names its code")  # fmt: skip
    trace.add_argument(
        "--inputs", default="", metavar="TEXT", help="example inputs, as in 'idx=int64[B,S] targets=int64[B,S]'; guessed where left out"
    )
    trace.add_argument("--loss", default="", metavar="EXPRESSION", help="the loss, an expression of `out`, `torch`, `F` and the inputs; "
                       "else what forward returns as a loss, else the mean of its output")  # fmt: skip
    trace.add_argument("--script", action="store_true", help="FILE is a script that trains: it is run, on a GPU that is not there, until "
                       "its first backward, and the model that it calls is traced")  # fmt: skip
    trace.add_argument("--arguments", default="", metavar="TEXT", help="arguments of that script")
    trace.add_argument("--name", default="", help="the graph's name; else the class's")
    trace.add_argument("--root", default=".", metavar="FOLDER", help="the folder that .vramlens stands in (default: this one)")
    trace.add_argument("--show", action="store_true", help="only say what would be traced")

    check = of.add_parser(
        "check",
        help="run your own script for two optimizer steps on a GPU that is not there",
        description="Runs the script as it is, with a CUDA device that is not there: no GPU, nothing trained, nothing saved. Says the peak of "
        "allocated memory to the byte. `vram-lens check --against-pytorch` puts it beside the estimate, with what is reserved.",
    )
    check.add_argument("--steps", type=int, default=2, metavar="N", help="optimizer steps (default 2)")
    check.add_argument("--card", default="80GB", metavar="SIZE", help="memory of the card that is pretended (default 80GB)")
    check.add_argument(
        "--rows", type=int, default=1024, metavar="N", help="rows that stand in for a data set that is not here (default 1024)"
    )
    check.add_argument("--words", type=int, default=4096, metavar="N", help="words of a text that stands in (default 4096)")
    check.add_argument("--catalogue", default="", metavar="FILE", help="configs of published models by name, as JSON")
    check.add_argument(
        "--ranks", type=int, default=1, metavar="N", help="processes of the run, one a card; the first is followed (default 1)"
    )
    check.add_argument(
        "--accelerate", default="", metavar="FILE", help="the config of `accelerate launch`, which says how many processes there are"
    )
    check.add_argument("--events", default="", metavar="FILE", help="write every allocation there")
    check.add_argument("script", help="the script to run")
    check.add_argument("arguments", nargs=argparse.REMAINDER, help="its own arguments")

    watch = of.add_parser(
        "watch",
        help="run your own script on the card and write a receipt of what it took",
        description="Runs the script as it is and writes .vramlens/receipts/*.json when it ends or runs out of memory.",
    )
    watch.add_argument("--root", default=".", metavar="FOLDER", help="the folder that .vramlens stands in (default: this one)")
    watch.add_argument("script", help="the script to run")
    watch.add_argument("arguments", nargs=argparse.REMAINDER, help="its own arguments")

    explain = of.add_parser(
        "explain", help="what an out-of-memory message says", description="Reads the last out-of-memory message of a log."
    )
    explain.add_argument("log", nargs="?", default="-", help="a file, or - for what is piped in (default)")

    bench = of.add_parser("bench", help="measure small real runs on this card, and write their receipts")
    bench.add_argument("--root", default=".", metavar="FOLDER", help="the folder that .vramlens stands in (default: this one)")
    bench.add_argument("--minutes", type=float, default=5.0, help="stop after about so many minutes (default 5)")
    bench.add_argument("--list", action="store_true", help="only say what would be run")

    of.add_parser("selftest", help="check that this PyTorch can do all of it")
    for one in of.choices.values():
        one.add_argument("--json", action="store_true", help="progress and result as one JSON object a line")
        one.add_argument("--said", default="", metavar="FILE", help="write the result there as well, as JSON")
        one.add_argument("--time-limit", type=float, default=0, metavar="SECONDS", help="give up after so long (default: never)")
    return top


def limited(seconds, speech):
    """Ends the process after so long, whatever its code does; a thread that nobody waits for."""
    import threading

    def end():
        speech.error(say("time", seconds=seconds))
        started.leave(124)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def run(arguments, speech):
    """Runs one command."""
    from . import commands

    getattr(commands, arguments.command)(arguments, speech)


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    arguments = parser().parse_args(argv)
    speech = Speech(arguments.json, arguments.said)
    if arguments.time_limit > 0:
        limited(arguments.time_limit, speech)
    looks = arguments.command in ("trace", "check", "selftest")
    if looks:
        started.adopt()
    status = 0
    try:
        run(arguments, speech)
    except Stopped as stopped:
        speech.error(str(stopped))
        status = stopped.status
    except KeyboardInterrupt:
        speech.error(say("interrupted"))
        status = 130
    except Exception as error:  # a fault of this program's own
        if os.environ.get("VRAM_LENS_TRACEBACK"):
            raise
        speech.error(f"{one_line(error)} (VRAM_LENS_TRACEBACK=1 shows where)")
        status = BAD_USAGE
    sys.stderr.flush()
    speech.out.flush()
    # Threads of autograd for a device that is not there cannot be joined at exit.
    if looks:
        started.leave(status)
    return status


if __name__ == "__main__":
    sys.exit(main())
