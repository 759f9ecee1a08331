"""scale, backward and autograd.grad."""

import torch

from amp_lessons.recorder import graph
from amp_lessons.recorder.hearing.autocast import autocast_is_on
from amp_lessons.recorder.hearing.heard import SCALER, argument, hears
from amp_lessons.recorder.later import Later
from amp_lessons.recorder.optimizer_state import MIXED, SCALED, UNKNOWN, UNSCALED, fingerprint, has_gradients

_LARGEST_WEIGHT = 8.0  # of a loss: a larger factor may be a loss scale
_GRAPHS_LOOKED_AT = 2  # for each line with a backward and each dtype of autocast


@hears("scale", part_of=SCALER)
def scale(loop, args, kwargs):
    loop.work_begins()
    state = loop.scaler_state(args[0])
    if state.enabled and state.loaded_before_first_scale is None and not state.used_before:
        state.loaded_before_first_scale = state.loaded
    scaled = yield
    if state.enabled:
        state.calls += 1
        graph.mark_scaled(scaled, id(args[0]), state.calls)
        loop.marked = True
        state.look_at_scale(loop.step)
    known = None if isinstance(state.scale, Later) else state.scale
    state.last_scale_call = loop.happens("scale", scaler=state, scale=known, enabled=state.enabled).place
    outputs = argument(args, kwargs, 1, "outputs") if state.enabled else None
    if isinstance(outputs, torch.Tensor) and outputs.numel() == 1:
        state.scaled_losses.append((state.calls, state.last_scale_call, loop.step, Later(outputs)))


@hears("backward")
def backward(loop, args, kwargs):
    """Hears the engine's entry, which backward() and autograd.grad() share."""
    accumulate = kwargs.get("accumulate_grad", True)
    moment = _looked_at(loop, args, kwargs, accumulate)
    if not accumulate:
        gradients = yield
        if moment.data["create_graph"] and moment.data["scaling"] == SCALED:
            if moment.scaler is None or not moment.scaler.scale_is_known:
                graph.mark_gradients(gradients)
                loop.penalty = moment
        return
    loop.end_scan()
    if loop.stale_cache is not None:
        loop.look_for_stale_copies([root for root in args[0] if root is not None] if args else [])
    loop.regions = {region.kind: region for region in reversed(loop.open_regions)}
    before = {}  # the gradients that are there: to see whose the backward adds to
    for optimizer, state in loop.watched_optimizers():
        if not loop.watchful:
            continue
        if state.used or state.unknown or state.backwards:
            state.changed_by_hand()
            before[id(optimizer)] = fingerprint(optimizer)
        if state.used and moment.data["scaling"] == SCALED and not state.unknown and not state.backwards:
            state.look_for_zeros()
    loop.backward_under_way, loop.clip_inside_backward = moment, None
    try:
        yield
    finally:
        loop.backward_under_way = None
    if loop.read_inside_backward:  # a hook on a gradient asked for the scale: it may have divided by it
        moment.data["scaling"] = UNKNOWN
    loop.penalty, loop.last_backward, loop.read_inside_backward = None, moment, False
    for optimizer, state in loop.watched_optimizers():
        there = before.get(id(optimizer))
        if has_gradients(optimizer) if there is None else fingerprint(optimizer) != there:
            state.receive_from(moment)
            if not loop.watchful:
                continue
            state.look(arrived=True)
            if loop.clip_inside_backward is not None and moment.data["scaling"] == SCALED:
                state.clipped_early = loop.clip_inside_backward
            if moment.data["scaling"] != UNSCALED or "float16" in moment.data["dtypes"]:
                state.weigh()


def _looked_at(loop, args, kwargs, accumulate):
    """Note a backward: where its root comes from, on which device, in which dtypes, under which autocast."""
    loop.work_begins()
    roots = [root for root in (args[0] if args else ()) if root is not None]
    given = args[1] if len(args) > 1 and accumulate else ()
    kind, scaler, twice = _origin(loop, roots)
    if loop.watchful and any(graph.has_own_gradient(root, one) for root, one in zip(roots, given)):
        kind = UNKNOWN
    if kind == UNSCALED and loop.watchful and any(map(graph.has_own_backward, roots)):
        kind = UNKNOWN
    device = getattr(getattr(roots[0] if roots else None, "device", None), "type", "cpu")
    place = loop.here()
    dtypes, devices = _ran_in(loop, roots[0], place, kind) if roots else (frozenset(), frozenset())
    if kind == SCALED and any(
        region.enabled and region.dtype == torch.float16 for region in loop.regions.values()
    ):
        dtypes = dtypes | {
            "float16"
        }  # perhaps deeper in the graph than the look went: then it needs its scaler
    if loop.penalty is not None and not (accumulate and any(map(graph.uses_scaled_gradients, roots))):
        loop.penalty = loop.penalty if not accumulate else None
    return loop.happens(
        "backward" if accumulate else "grad",
        scaler=scaler,
        place=place,
        scaling=kind,
        scaled_twice=twice,
        device=device,
        autocast=autocast_is_on(device),
        create_graph=bool(argument(args, kwargs, 3, "create_graph", False)),
        dtypes=dtypes,
        devices=devices,
    )


def _origin(loop, roots):
    """Return (the kind of all roots together, the scaler's state or None, whether it scaled them twice)."""
    if not loop.marked and not any(state.enabled for state in loop.scalers.values()):
        return ("unscaled" if loop.events.total else UNKNOWN), None, False  # begun with a backward: who knows
    origins = [graph.origin_of(root) for root in roots]
    kinds = {one.kind for one in origins}
    kind = kinds.pop() if len(kinds) == 1 else UNKNOWN if UNKNOWN in kinds else MIXED
    if kind == UNSCALED and _may_be_multiplied_by_the_scale(loop, max(one.product for one in origins)):
        kind = UNKNOWN
    scaler = loop.scalers.get(next((one.scaler for one in origins if one.scaler is not None), None))
    if scaler is None:
        return kind, None, False
    calls = [call for one in origins for call in one.calls]
    several = max(calls, default=0) > scaler.backward_call + 1  # calls of scale() since the last backward
    scaler.go_backward(calls)
    return kind, scaler, several and any(map(graph.scaled_twice, roots))


def _may_be_multiplied_by_the_scale(loop, product):
    """Return whether a loss multiplied by ``product`` (0: by nothing) may be scaled by hand."""
    if product > _LARGEST_WEIGHT:
        return True
    return product > 0 and any(state.scale_was_read for state in loop.scalers.values())


def _ran_in(loop, root, place, kind):
    """Return dtypes and devices of the graph where autocast was asked for; a few looks a line."""
    asked = frozenset(region.dtype for region in loop.regions.values() if region.wanted)
    if not asked:
        return frozenset(), frozenset()
    if len(loop.looked_at) > 1000:
        loop.looked_at.clear()
    times, found = loop.looked_at.get((place, asked), (0, None))
    suspect = found is not None and (
        "float16" in found[0] if kind == UNSCALED else "bfloat16" in found[0] or "float16" not in found[0]
    )
    if times < _GRAPHS_LOOKED_AT or suspect:  # a line may serve several models
        found = graph.forward_ran_in(root)
        loop.looked_at[place, asked] = times + 1, found
    return found
