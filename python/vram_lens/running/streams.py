"""Streams and events of a card that is not there: they order nothing, and all that was asked for is done."""

import importlib

import torch


class Event:
    """`torch.cuda.Event`: everything before it has happened, in no time."""

    def __init__(self, *given, **more):
        self.device = torch.device("cuda:0")

    def query(self):
        return True

    def record(self, *given):
        pass

    wait = synchronize = record

    def elapsed_time(self, other):
        return 0.0


class Stream:
    """`torch.cuda.Stream` that orders nothing; every one is the same."""

    device_index = cuda_stream = stream_id = 0
    device_type = 1

    def __init__(self, *given, **more):
        self.device = torch.device("cuda:0")

    def record_event(self, event=None):
        return event or Event()

    def query(self):
        return True

    def wait_stream(self, *given):
        pass

    wait_event = synchronize = wait_stream

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def __eq__(self, other):
        return isinstance(other, Stream)

    __hash__ = object.__hash__


def install():
    """Gives torch these in the place of its own, once what asks for its own classes has been imported (torch 2.4, DeviceInterfaceMeta)."""
    importlib.import_module("torch._dynamo.device_interface")
    torch.cuda.Stream = torch.Stream = Stream
    torch.cuda.Event = torch.Event = Event
    torch.cuda.current_stream = torch.cuda.default_stream = lambda *given, **more: Stream()
    torch.cuda.stream = lambda *given, **more: Stream()
    if hasattr(torch, "accelerator"):
        torch.accelerator.current_stream = lambda *given: Stream()
        torch.accelerator.set_stream = lambda *given: None
    torch.Tensor.record_stream = lambda *given, **more: None
