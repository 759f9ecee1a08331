"""Follows the memory of tensors: when a piece comes to be, how large it is, and when it is let go."""

import itertools
import weakref

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from amp_lessons.memory.step import ACTIVATIONS, DATA, FORWARD, KINDS, PARAMETERS, TEMPORARY, WEIGHT_COPIES

_CAST = torch.ops.aten._to_copy.default
# torch.tensor makes these out of numbers unseen, then hands them over: they are new, although they come in.
_HANDED_OVER = (torch.ops.aten.lift_fresh.default, torch.ops.aten.lift_fresh_copy.default)


class _Piece:
    """One piece of memory: the storage that one tensor has, or several share."""

    __slots__ = ("storage", "size", "said", "from_start", "cast_from", "left_by_forward")

    def __init__(self, storage, from_start, cast_from):
        self.storage = storage  # a weak reference
        self.size = 0
        self.said = None  # its kind, once somebody has said it
        self.from_start = from_start
        self.cast_from = cast_from  # the piece that this one is a copy of, in another dtype
        self.left_by_forward = False

    @property
    def kind(self):
        if self.said is not None:
            return self.said
        if self.from_start:
            return DATA
        if self.cast_from is not None and self.cast_from.said == PARAMETERS:
            return WEIGHT_COPIES
        return ACTIVATIONS if self.left_by_forward else TEMPORARY


class Living(TorchDispatchMode):
    """While open, notes which memory lives on one device. It keeps no tensor alive.

    Every operation is seen, of backward and of the optimizer too. Memory that comes out of one is new. Memory
    that only goes into one was there before the step. What an operation takes and gives back before it
    returns isn't seen.

    phase: the phase of the step that runs. While it is None, changes are noted, but no moment of the step
    lies between them.
    """

    def __init__(self, device):
        super().__init__()
        self.phase = None
        self._device = device
        self._alive = {}  # from the address of a storage
        self._changes = []  # (phase, number of the operation, piece, more bytes, whether it came to be)
        self._operations = 0
        self._start = 0  # the number of changes before the step

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        inputs = [] if func in _HANDED_OVER else _tensors(args, kwargs)
        for tensor in inputs:
            self._see(tensor, from_start=True)
        if func.namespace not in ("prim", "profiler"):  # these only ask or note something
            self._operations += 1
        result = func(*args, **kwargs)
        outputs = _tensors(result)
        for tensor in inputs:
            self._see(tensor, from_start=True)  # again: an operation may resize what it writes into
        cast_from = None
        if func is _CAST and result.dtype != args[0].dtype:
            cast_from = next(self._pieces([args[0]]), None)
        for tensor in outputs:
            self._see(tensor, from_start=False, cast_from=cast_from)
        return result

    def start(self):
        """The step begins here: what lives now was there before."""
        self._start, self.phase = len(self._changes), FORWARD
        for piece in self._alive.values():
            piece.from_start = True

    def storages(self):
        """The memory that lives now, for who must keep it."""
        found = [piece.storage() for piece in self._alive.values()]
        for storage in found:
            storage._fix_weakref()  # PyTorch has to be told that a weak reference was followed
        return found

    def forward_has_made(self, loss):
        """The forward pass ends here. What it has made and what still lives, it leaves for backward."""
        of_loss = set(self._pieces([loss]))
        for piece in self._alive.values():
            piece.left_by_forward = piece not in of_loss

    def say(self, kind, tensors, from_start=False):
        """Say of which kind tensors are; what no operation has seen was there before.

        from_start: they have been there from the start, although they came to be later.
        """
        for tensor in tensors:
            self._see(tensor, from_start=True)
        for piece in self._pieces(tensors):
            piece.said = kind
            piece.from_start |= from_start

    def moments(self):
        """Pairs (phase, dict from kind to bytes): what lived at the start, and after each change.

        What one operation makes is one change, and so is what is let go between two.
        """
        living = dict.fromkeys(KINDS, 0)
        later = []
        for place, (phase, operation, piece, more, is_new) in enumerate(self._changes):
            if place < self._start or (is_new and piece.from_start):
                living[piece.kind] += more
            else:
                later.append(((phase, operation, more > 0), piece.kind, more))
        yield FORWARD, dict(living)
        for (phase, _, _), changes in itertools.groupby(later, key=lambda change: change[0]):
            for _, kind, more in changes:
                living[kind] += more
            if phase is not None:
                yield phase, dict(living)

    def _see(self, tensor, from_start, cast_from=None):
        if (
            tensor.device != self._device
        ):  # asked of the tensor: one without values has a storage of no device
            return
        for storage in _storages(tensor):
            piece = self._alive.get(storage._cdata)
            is_new = piece is None
            if is_new:
                piece = self._follow(storage, from_start, cast_from)
            if piece.said is None and isinstance(tensor, nn.Parameter):
                piece.said = PARAMETERS
            more = storage.nbytes() - piece.size
            if more:
                piece.size += more
                self._note(piece, more, is_new)

    def _follow(self, storage, from_start, cast_from):
        address = storage._cdata

        def let_go(_):
            del self._alive[address]  # at once: the next storage may get this address
            if piece.size:
                self._note(piece, -piece.size)

        piece = self._alive[address] = _Piece(weakref.ref(storage, let_go), from_start, cast_from)
        return piece

    def _note(self, piece, more, is_new=False):
        self._changes.append((self.phase, self._operations, piece, more, is_new))

    def _pieces(self, tensors):
        for tensor in tensors:
            for storage in _storages(tensor):
                if storage._cdata in self._alive:
                    yield self._alive[storage._cdata]


def _tensors(*values):
    return [each for each in tree_leaves(values) if isinstance(each, torch.Tensor)]


def _storages(tensor):
    """The storages of a tensor: one, of a sparse one those of its indices and values, else none."""
    if tensor.layout == torch.sparse_coo:
        return [*_storages(tensor._indices()), *_storages(tensor._values())]
    try:
        return [tensor.untyped_storage()]
    except RuntimeError:  # a tensor in a library's own layout
        return []
