"""Records what a model's forward does at the level of composite operators, above autograd and autocast.

The recorder sits on the PreDispatch key, so `linear`, `layer_norm` or `cross_entropy_loss` appear whole. Parameters are
frozen, so nothing but Python holds a tensor, and a weak reference tells where Python lets go of it.
"""

import contextlib
import sys
import types
import weakref

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.schema_check_mode import SchemaCheckMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from . import products
from .library import Library
from .events import Dtype, Event, Meta, Trace, Value, Weight
from .kept_tensors import keeping, registering, settle
from .whole_operators import Functions, attention_with, ctc_with, grouped_with


# Name of the function by which a model casts to autocast's dtype itself (Nemotron).
CAST = "_cast_if_autocast_enabled"

_no_view_tracking = torch._C.DispatchKeySet(torch._C.DispatchKey.ADInplaceOrView)


@contextlib.contextmanager
def _plain_views():
    """Views keep no reference to their base, so that each Python tensor lives exactly as long as Python holds it."""
    with torch._C._ExcludeDispatchKeyGuard(_no_view_tracking):
        yield


class Recorder(SchemaCheckMode):
    """Dispatch mode on the PreDispatch key (which admits only torch's own mode classes, hence the base)."""

    def __init__(self, model, batch, library):
        self.library = library
        TorchDispatchMode.__init__(self, _dispatch_key=torch._C.DispatchKey.PreDispatch)
        self.events, self.values, self.live, self.refs, self.reads = [], [], {}, {}, {}
        self.silent, self.done, self.amp, self.within = 0, False, torch.is_autocast_enabled("cuda"), False
        self.trained, self.derived = None, set()  # names of weights that are trained where that is asked; what was made of them
        self.paths = {}
        for path, module in model.named_modules():
            self.paths.setdefault(id(module), path)
        self.weights = {}  # every name of a tensor: tied ones have several
        for name, t in [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]:
            self.weights.setdefault(id(t), []).append(name)
        self.weight_metas = {
            n: _meta(t, n) for n, t in [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]
        }
        self.checkpoints = getattr(model, "supports_gradient_checkpointing", True)  # a class that does not refuses to be told
        self.scopes = [""]
        self.batch = {name: self.see(t) for name, t in batch.items()}

    def name_here(self, names):
        """The name by which the running module knows a tensor, so that tied and untied models read alike."""
        scope = f"{self.scopes[-1]}." if self.scopes[-1] else ""
        return next((n for n in reversed(names) if scope and n.startswith(scope)), names[0])

    # ---- tensors ------------------------------------------------------------------------------------------------
    def see(self, t):
        """Reference of a tensor; an unknown one becomes a value followed until Python drops it."""
        if id(t) in self.weights:
            return Weight(self.name_here(self.weights[id(t)]))
        key = id(t)
        if key in self.live:
            return Value(self.live[key])
        number = len(self.values)
        self.values.append(_meta(t))
        self.live[key] = number
        recorder = weakref.ref(self)

        def dead(_):
            me = recorder()
            if me is not None:
                me.live.pop(key, None)
                me.refs.pop(number, None)
                if not me.done:
                    me.events.append(Event("drop", outs=[Value(number)]))

        self.refs[number] = weakref.ref(t, dead)
        return Value(number)

    def known(self, t):
        return id(t) in self.weights or id(t) in self.live

    def operand(self, x):
        if isinstance(x, torch.Tensor):
            if not self.known(x):
                return self.foreign(x)
            return self.see(x)
        if isinstance(x, torch.dtype):
            return Dtype(x, self.reads.get(x))
        if isinstance(x, (list, tuple)):
            return [self.operand(y) for y in x]
        if isinstance(x, (torch.device, torch.layout, torch.memory_format)):
            return str(x)
        if x is None or isinstance(x, (bool, int, float, str)):
            return x
        raise TypeError(f"operand {type(x)}")

    def foreign(self, t):
        """A tensor that existed before the forward but is neither parameter nor buffer: a constant."""
        ref = self.see(t)
        self.events.append(
            Event("op", "empty.memory_format", self.scopes[-1], [list(t.shape)], {"dtype": Dtype(t.dtype), "foreign": True}, [ref])
        )
        return ref

    # ---- operators ----------------------------------------------------------------------------------------------
    def __torch_dispatch__(self, func, kinds, args=(), kwargs=None):
        kwargs = kwargs or {}
        with _plain_views():
            out = func(*args, **kwargs)
            if self.silent or self.done:
                return out
            if isinstance(out, torch.Tensor) and not func._schema.is_mutable and self.known(out):
                out = torch.ops.aten.alias.default(out)
        name = str(func).removeprefix("aten.").removesuffix(".default")
        if name in READS:
            return out
        name = ALIASES.get(name, name)
        rows = self.library.rows(name, args)
        kw = {k: self.operand(v) for k, v in kwargs.items()} | ({} if rows is None else {"rows": rows})
        if name == "where.Scalar":  # of two numbers, which as text do not tell what they are
            kw["dtype"] = self.operand(out.dtype)
        self.emit(Event("op", name, self.scopes[-1], [self.operand(a) for a in args], kw), out)
        return out

    def emit(self, event, out):
        leaves = [t for t in tree_leaves(out) if isinstance(t, torch.Tensor)]
        event.outs = [self.see(t) for t in leaves]
        own = [Weight(f"{event.path}.{name}") for name in ("weight", "bias")] if event.kind == "call" else []
        if self.trained is not None and torch.is_grad_enabled() and any(map(self.differentiable, [*own, *tree_leaves(event.ins)])):
            self.derived.update(ref for ref, t in zip(event.outs, leaves) if t.is_floating_point() and isinstance(ref, Value))
        event.noamp = self.amp and not torch.is_autocast_enabled("cuda")
        event.nograd = not torch.is_grad_enabled()
        self.events.append(event)

    def differentiable(self, ref):
        """Whether a training run would differentiate it: all that is recorded is frozen."""
        return ref in self.derived if isinstance(ref, Value) else isinstance(ref, Weight) and ref.name in self.trained

    @contextlib.contextmanager
    def silence(self):
        self.silent += 1
        try:
            yield
        finally:
            self.silent -= 1

    # ---- autocast by hand ---------------------------------------------------------------------------------------
    def cast_if_autocast(self, device_type, *values):
        """What code casts by itself to autocast's dtype where that is on: one operator, which does nothing elsewhere."""
        return tuple(self.to_autocast(x) if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in values)

    def to_autocast(self, x, **kw):
        with self.silence(), _plain_views():
            out = torch.ops.aten.alias.default(x.to(torch.get_autocast_dtype("cuda")) if self.amp else x)
        self.emit(Event("op", "autocast_to", self.scopes[-1], [self.operand(x)], kw), out)
        return out

    def lowered(self, x):
        """As autocast converts an operator's operand: what it makes of a weight is kept for the next."""
        return self.to_autocast(x, cached=True)

    def function(self, cls, name):
        """Stands for an autograd function: `apply` runs its forward unseen and is recorded as one operator."""

        def apply(*values):
            with self.silence(), _plain_views():
                out = cls.forward(types.SimpleNamespace(save_for_backward=lambda *saved: None), *values)
            self.emit(Event("op", name, self.scopes[-1], [self.operand(x) for x in values]), out)
            return out

        return types.SimpleNamespace(apply=apply)

    # ---- loops over the sequence --------------------------------------------------------------------------------
    def rounds(self, *bounds):
        """`range`, which tells where the rounds of the loops in `LOOPS` begin."""
        told = sys._getframe(1).f_code.co_name in self.library.loops
        return self.each(range(*bounds)) if told else range(*bounds)

    def each(self, indices, told=True, layers=False):
        """Numbers of rounds, which tell where each begins; those of `layers` pick modules from several lists by their number."""
        told = told and not self.silent and not self.done
        for k in indices:
            if told:
                self.events.append(Event("round", str(k), checkpoint=layers))
            yield k
        if told:
            self.events.append(Event("rounds"))

    def part(self, tensor, length, k, dim=0):
        """Rows of one of the pictures that stand behind each other, of so many rows each: one of the views of a split."""
        with self.silence(), _plain_views():
            out = tensor.narrow(dim, k * length, length)
        self.emit(Event("op", "picture_part", self.scopes[-1], [self.operand(tensor), length, k, *([dim] if dim else [])]), out)
        return out

    def tell(self, name):
        """Something that happens there and makes nothing."""
        self.events.append(Event("op", name, self.scopes[-1]))

    def whole(self, name, made, *ins):
        """What `made` gives, as the outputs of one operator."""
        with self.silence(), _plain_views():
            out = made()
        self.emit(Event("op", name, self.scopes[-1], [self.operand(x) for x in ins]), out)
        return out

    # ---- what is computed again in backward -----------------------------------------------------------------------
    def segment(self, function, how):
        """A function whose calls are segments; `how` is kept of each. One inside another is part of it."""
        differentiable = torch.is_grad_enabled()

        def run(*args, **kwargs):
            if self.silent or self.done or self.within:
                return function(*args, **kwargs)
            given = [(f"{k}", True, t) for k, t in enumerate(args) if isinstance(t, torch.Tensor)]
            loose = [a for a in [*args, *kwargs.values()] if not isinstance(a, torch.Tensor)] + [
                a for a in kwargs.values() if isinstance(a, torch.Tensor)
            ]
            given += [(f"inner.{k}", False, t) for k, t in enumerate(tree_leaves(loose)) if isinstance(t, torch.Tensor)]
            ins = [(key, positional, self.operand(t)) for key, positional, t in given]
            del given, loose  # a frame that names a tensor would keep it alive
            self.events.append(Event("segment", path=self.scopes[-1], ins=ins, kw=how))
            self.within = True
            try:
                with torch.set_grad_enabled(differentiable):  # an autograd function's forward runs without
                    out = function(*args, **kwargs)
            finally:
                self.within = False
            self.events.append(Event("whole", outs=[self.operand(t) for t in tree_leaves(out) if isinstance(t, torch.Tensor)]))
            return out

        return run

    # ---- modules ------------------------------------------------------------------------------------------------
    def leaf(self, module):
        """Kind and attributes of a module the engine knows whole, or None."""
        if hasattr(module, "activation_name") and not module._parameters:
            return "Activation", {"fn": module.activation_name}
        if hasattr(module, "stands_for"):  # a whole model in the loss of a trainer
            return module.stands_for, {}
        if type(module) in (torch.nn.Linear, torch.nn.Embedding):
            return type(module).__name__, {}
        if type(module) is torch.nn.Conv2d and module.padding_mode == "zeros":
            return "Conv2d", {
                "stride": list(module.stride),
                "padding": module.padding if isinstance(module.padding, str) else list(module.padding),
                "dilation": list(module.dilation),
                "groups": module.groups,
            }
        return self.library.leaf(module)

    def fused(self, name, ins, out):
        """A library's own autograd function, as one operator whose results are `out`."""
        self.emit(Event("op", name, self.scopes[-1], [self.operand(x) for x in ins]), out)

    def module_call(self, call, module, args, kwargs):
        path = self.paths.get(id(module))
        if path is None and hasattr(module, "activation_name"):
            path = f"{self.scopes[-1]}.activation"  # made for one call (RoFormer's heads)
        if path is None or self.silent or self.done:
            return call(module, *args, **kwargs)
        leaf = self.leaf(module)
        if leaf is not None:
            with self.silence():
                out = call(module, *args, **kwargs)
                if self.known(out):
                    with _plain_views():
                        out = torch.ops.aten.alias.default(out)
            self.emit(Event("call", leaf[0], path, [self.operand(a) for a in [*args, *kwargs.values()]], leaf[1]), out)
            return out
        return self.scope(call, module, path, args, kwargs)

    def scope(self, call, module, path, args, kwargs):
        arguments = [(f"{i}", True, a) for i, a in enumerate(args)] + [(k, False, v) for k, v in kwargs.items()]
        ins = []
        for key, positional, a in arguments:
            single = isinstance(a, torch.Tensor)
            for j, t in enumerate(tree_leaves(a)):
                if isinstance(t, torch.Tensor):
                    ins.append((key if single else f"{key}.{j}", positional and single, self.operand(t)))
        arguments = a = t = None  # a frame that names a tensor would keep it alive
        self.events.append(Event("enter", type(module).__name__, path, ins, checkpoint=self.checkpoints and self.library.is_unit(module)))
        self.scopes.append(path)
        out = call(module, *args, **kwargs)
        self.scopes.pop()
        self.events.append(Event("exit", path=path, outs=[self.operand(t) for t in tree_leaves(out) if isinstance(t, torch.Tensor)]))
        return out


def _meta(t, name=None):
    return Meta(tuple(t.shape), t.dtype, t.device.type == "cpu", name)


READS = ("item", "_local_scalar_dense", "is_nonzero")
"""Operators that bring a value to the host; nothing of them stays on the device."""

ALIASES = {"max.other": "maximum", "min.other": "minimum"}
"""Other names of an operator, whose overload alone tells an operand that is a number on the host from a dimension
(aten/src/ATen/native/BinaryOps.cpp)."""

PLAIN = Library()
"""What is known of models that are made of torch alone."""


def trace(model, batch, run, holder=None, library=PLAIN, around=lambda recorder: contextlib.nullcontext()):
    """The trace of `run()`, whose result holds the outputs; `holder` is given the recorder for its own operators, and so is `around`,
    whose context `run` is in."""
    recorder = Recorder(model, batch, library)
    code = vars(sys.modules[type(model).__module__])
    if holder is not None:
        holder["recorder"] = recorder
    functional = torch.nn.functional
    call, attention = torch.nn.Module.__call__, functional.scaled_dot_product_attention
    grouped = getattr(functional, "grouped_mm", None)  # since torch 2.10
    ctc, functional.ctc_loss = functional.ctc_loss, ctc_with(recorder)
    whole, torch.einsum = torch.einsum, products.einsum_with(recorder.lowered)
    own = attention_with(recorder)
    files = {type(m).__module__ for m in model.modules()} & sys.modules.keys()
    spaces = [vars(sys.modules[name]) for name in files]
    ours = {id(whole): torch.einsum, id(attention): own}
    taken = [(space, name, value) for space in spaces for name, value in space.items() if id(value) in ours]  # `from torch import einsum`
    for space, name, value in taken:
        space[name] = ours[id(value)]
    torch.nn.Module.__call__ = lambda module, *a, **k: recorder.module_call(call, module, a, k)
    plainly, torch.nn.Module.__setattr__ = torch.nn.Module.__setattr__, keeping(recorder, torch.nn.Module.__setattr__)
    register = torch.nn.Module.register_buffer
    if holder is None:  # libraries' own models are told of otherwise
        torch.nn.Module.register_buffer = registering(recorder, register)
    replaced = {"range": recorder.rounds} | ({CAST: recorder.cast_if_autocast} if CAST in code else {})
    replaced |= {name: recorder.function(code[name], op) for name, op in library.functions.items() if name in code}
    before = {name: code[name] for name in replaced if name in code}
    code.update(replaced)
    functional.scaled_dot_product_attention = own
    if grouped is not None:
        functional.grouped_mm = grouped_with(recorder)
    try:
        with library.recording(recorder), around(recorder), enable_python_dispatcher(), recorder, Functions(recorder):
            out = run()
            recorder.done = True
        outputs = [recorder.see(t) for t in tree_leaves(out) if isinstance(t, torch.Tensor)]
        del out
        given = {id(t) for t in batch.values()}  # what comes back as it was given is the caller's
        held = [v for v in outputs if isinstance(v, Value) and v.id in recorder.refs and id(recorder.refs[v.id]()) not in given]
        outgoing = {v.id for v in held}  # counted with the model, which holds them when the forward is over
        recorder.events[:] = [e for e in recorder.events if e.name != "keep" or e.ins[0].id not in outgoing]
        settle(model, recorder)
    finally:
        for name in replaced:
            del code[name]
        code.update(before)
        functional.ctc_loss, torch.einsum = ctc, whole
        for space, name, value in taken:
            space[name] = value
        torch.nn.Module.__call__, torch.nn.Module.__setattr__, torch.nn.Module.register_buffer = call, plainly, register
        functional.scaled_dot_product_attention = attention
        if grouped is not None:
            functional.grouped_mm = grouped
    return Trace(recorder.events, recorder.values, recorder.weight_metas, recorder.batch, outputs, recorder.amp, held)
