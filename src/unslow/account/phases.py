"""Naming what only the order of events tells: set-up before training, the loss in the script, evaluation apart from training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unslow.account.sweep import HEAD, NAMES, Phases, Swept, in_order
from unslow.recording.model import IntArray
from unslow.recording.nesting import BoolArray

FORWARD, BACKWARD, STEP, ZERO_GRAD = 0, 1, 2, 3

_NUMBER = {name: number for number, name in enumerate(NAMES)}


@dataclass(frozen=True, slots=True)
class Signals:
    """Where the events lie that tell training from evaluation: indices of events, sorted.

    ``training`` with ``kind`` (FORWARD, BACKWARD, STEP, ZERO_GRAD); ``evaluating``: begins of evaluation forwards. ``loader_begin``:
    marks, with ``loader_of`` and ``loader_trains`` (this epoch of the loader is followed by training). ``training_batch``: begins
    of spans that bring a batch to train on. ``data``: begins of all ``data.*`` spans. ``marks``: by event name.
    """

    training: IntArray
    kind: IntArray
    evaluating: IntArray
    loader_begin: IntArray
    loader_of: IntArray
    loader_trains: BoolArray
    training_batch: IntArray
    data: IntArray
    data_loader: IntArray
    marks: dict[str, IntArray]

    @property
    def first(self) -> int | None:
        """The event with which training begins, or None."""
        if not len(self.training):
            return None
        epochs = self.loader_begin[self.loader_trains]
        return int(min(self.training[0], epochs[0])) if len(epochs) else int(self.training[0])


def _codes_where(swept: Swept, test: Any) -> BoolArray:
    """Which codes have a definition that passes ``test``, as a table."""
    table = np.zeros(max(swept.lane.definitions, default=0) + 1, dtype=bool)
    for code, definition in swept.lane.definitions.items():
        table[code] = test(definition)
    return table


def is_evaluation(attributes: dict[str, Any]) -> bool:
    """Whether a forward with these attributes cannot have been for training."""
    return attributes.get("grad") is False


def is_ambiguous(attributes: dict[str, Any]) -> bool:
    """A forward in evaluation mode but with gradients: fine-tuning, or an evaluation that forgot ``no_grad``."""
    return attributes.get("grad") is not False and attributes.get("training") is False


def signals(swept: Swept) -> Signals:
    """Find the events that tell training from evaluation."""
    code, begin = swept.lane.event_code, swept.nesting.begin
    forward = _codes_where(swept, lambda d: d.kind == "span" and d.activity == "forward")
    no_grad = _codes_where(swept, lambda d: d.activity == "forward" and is_evaluation(d.attributes))
    ambiguous = _codes_where(swept, lambda d: d.activity == "forward" and is_ambiguous(d.attributes))
    step = _codes_where(swept, lambda d: d.kind == "span" and bool(d.attributes.get("step")))
    backward = _codes_where(swept, lambda d: d.kind == "span" and d.activity == "backward")
    zero_grad = _codes_where(swept, lambda d: d.kind == "span" and d.activity == "zero_grad")
    data = _codes_where(swept, lambda d: d.kind == "span" and (d.activity or "").startswith("data."))

    marks: dict[str, IntArray] = {}
    for name in ("no_grad.enter", "no_grad.exit", "model.eval", "model.train", "loader.begin"):
        marks[name] = np.flatnonzero(_codes_where(swept, lambda d, name=name: d.kind == "mark" and d.attributes.get("event") == name)[code])
    backwards = np.flatnonzero(begin & backward[code])
    sure = np.flatnonzero(begin & (backward | step | (forward & ~no_grad & ~ambiguous))[code])
    deciders = in_order(sure, marks["loader.begin"], marks["model.train"])
    unsure = np.flatnonzero(begin & ambiguous[code])
    # A forward whose mode says evaluation was training after all if nothing but such forwards lies between it and a backward.
    following = np.concatenate([deciders, [-1]])[np.searchsorted(deciders, unsure)]
    trained = np.isin(following, backwards)

    is_training = begin & (backward | step | zero_grad | (forward & ~no_grad & ~ambiguous))[code]
    is_training[unsure[trained]] = True
    evaluating = np.zeros_like(is_training)
    evaluating[unsure[~trained]] = True
    evaluating |= begin & no_grad[code]
    training = np.flatnonzero(is_training)
    its = code[training]
    kind = np.select([step[its], backward[its], zero_grad[its]], [STEP, BACKWARD, ZERO_GRAD], FORWARD)
    return _with_loaders(swept, training, kind, np.flatnonzero(evaluating), np.flatnonzero(begin & data[code]), marks)


def _with_loaders(
    swept: Swept, training: IntArray, kind: IntArray, evaluating: IntArray, data: IntArray, marks: dict[str, IntArray]
) -> Signals:
    """Find out which loaders, and which of their epochs, feed training."""
    code = swept.lane.event_code
    number = np.full(max(swept.lane.definitions, default=0) + 1, -1, dtype=np.int64)
    for one, definition in swept.lane.definitions.items():
        loader = definition.attributes.get("loader")
        number[one] = loader if isinstance(loader, int) else -1
    data_loader = number[code[data]]
    begins = marks["loader.begin"]
    loader_of = number[code[begins]]

    # The last batch taken before something was computed votes: for training, if training comes first. If a forward without gradients
    # comes before the training, it may be a teacher's: that is a vote only where no loader has better ones.
    computed = in_order(training, evaluating)
    named, named_loader = data[data_loader >= 0], data_loader[data_loader >= 0]
    after = np.concatenate([named[1:], [len(code)]]) if len(named) else named
    next_computed = np.concatenate([computed, [len(code)]])[np.searchsorted(computed, named)]
    votes = next_computed < after
    next_training = np.concatenate([training, [len(code)]])[np.searchsorted(training, named)]
    loaders = np.unique(named_loader[votes]).tolist()
    trains: dict[int, bool] = {}
    for answer in (next_training == next_computed, next_training < after):
        if not any(trains.values()):
            trains = {loader: _majority(answer[votes & (named_loader == loader)]) for loader in loaders}

    totals_from = min((int(window["t0"]) for window in swept.lane.totals), default=1 << 62)
    next_begin = np.concatenate([begins[1:], [len(code)]]) if len(begins) else begins
    following = np.concatenate([training, [len(code)]])[np.searchsorted(training, begins)]
    epoch_trains = np.zeros(len(begins), dtype=bool)
    for loader in np.unique(loader_of).tolist():
        mine = np.flatnonzero(loader_of == loader)
        if loader in trains:
            again = np.concatenate([begins[mine[1:]], [len(code)]])
            # While totals are kept there are no spans to tell by: an epoch of a training loader is taken for one.
            epoch_trains[mine] = trains[loader] & ((following[mine] < again) | (swept.time[begins[mine]] >= totals_from))
        elif not trains:
            epoch_trains[mine] = following[mine] < next_begin[mine]
    training_loaders = [loader for loader, answer in trains.items() if answer]
    feeds = data[np.isin(data_loader, training_loaders)] if training_loaders else data[data_loader < 0]
    return Signals(training, kind, evaluating, begins, loader_of, epoch_trains, feeds, data, data_loader, marks)


def _majority(votes: BoolArray) -> bool:
    return 2 * int(votes.sum()) > len(votes)


def phases(swept: Swept, found: Signals) -> Phases:
    """Name the script's own level at each place in the lane, and flag set-up and evaluation."""
    count = len(swept.time)
    script = np.full(count + HEAD + 1, _NUMBER["script"], dtype=np.int64)
    before = np.zeros(count + HEAD + 1, dtype=bool)
    evaluate = np.zeros(count + HEAD + 1, dtype=bool)
    if found.first is not None:
        before[: HEAD + found.first] = True
        script[: HEAD + found.first] = _NUMBER["setup"]
    for begin, end in _loss_gaps(swept, found):
        script[HEAD + begin : HEAD + end] = _NUMBER["loss"]
    evaluate[HEAD:-1] = _evaluation(swept, found)

    code = swept.lane.event_code
    begins = np.flatnonzero(_codes_where(swept, lambda d: d.attributes.get("event") == "script.begin")[code])
    ends = np.flatnonzero(_codes_where(swept, lambda d: d.attributes.get("event") == "script.end")[code])
    first = int(begins[0]) if len(begins) else _first_beyond_startup(swept)
    script[: HEAD + first] = _NUMBER["startup.interpreter"]
    if len(ends):
        script[HEAD + int(ends[-1]) :] = _NUMBER["teardown"]
    elif swept.lane.ended is not None:
        script[-1] = _NUMBER["teardown"]
    else:
        script[-1] = _NUMBER["unexplained"]
    return Phases(script, before, evaluate)


def _first_beyond_startup(swept: Swept) -> int:
    """Without a mark, the script began with the first span that is not part of starting up."""
    beyond = _codes_where(swept, lambda d: d.kind == "span" and not (d.activity or "startup.").startswith(("startup.", "observer")))
    places = np.flatnonzero(beyond[swept.lane.event_code])
    return int(places[0]) if len(places) else len(swept.time)


def _loss_gaps(swept: Swept, found: Signals) -> list[tuple[int, int]]:
    """From the end of the last forward of a step to the begin of its backward: what the script does there is the loss."""
    backward = found.training[found.kind == BACKWARD]
    forward = found.training[found.kind == FORWARD]
    if not len(backward) or not len(forward):
        return []
    bounds = np.sort(found.training[(found.kind == BACKWARD) | (found.kind == STEP)])
    previous = np.concatenate([[-1], bounds])[np.searchsorted(bounds, backward)]
    place = np.searchsorted(forward, backward) - 1
    last = forward[np.maximum(place, 0)]
    end = swept.nesting.match[last]
    # An inner module ends before the outer one: the gap begins where no forward is open any more.
    fits = (place >= 0) & (last > previous) & (end < backward)
    outer_end = np.maximum.accumulate(swept.nesting.match[forward])[np.maximum(place, 0)]
    begin = np.where(outer_end < backward, np.maximum(end, outer_end), end)
    return list(zip(begin[fits].tolist(), backward[fits].tolist(), strict=True))


def _evaluation(swept: Swept, found: Signals) -> BoolArray:
    """Whether the tile after each event lies in evaluation."""
    count = len(swept.time)
    delta = np.zeros(count + 1, dtype=np.int64)
    begins, ends = found.evaluating, swept.nesting.match[found.evaluating]
    place = np.searchsorted(found.training, begins)
    inside = _in_step(found, place, count)
    # A teacher or a target network inside a step: that call alone.
    np.add.at(delta, begins[inside], 1)
    np.add.at(delta, ends[inside], -1)
    begins, ends, place = begins[~inside], ends[~inside], place[~inside]
    # Going back to training mode, or asking for a batch to train on, ends an evaluation too.
    borders = in_order(found.marks["model.train"], found.loader_begin[found.loader_trains])
    group = place * (len(borders) + 1) + np.searchsorted(borders, begins)
    _, starts = np.unique(group, return_index=True)
    stops = np.append(starts[1:], len(place))[: len(starts)]
    for one, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        begin, end = _region(swept, found, borders, int(place[one]), int(begins[one]), int(ends[one:stop].max()))
        delta[begin] += 1
        delta[end] -= 1
    covered: BoolArray = np.cumsum(delta[:-1]) > 0
    return covered


def _number_between(places: IntArray, low: IntArray, high: IntArray) -> IntArray:
    """How many of ``places`` lie strictly between, for each pair."""
    number: IntArray = np.searchsorted(places, high) - np.searchsorted(places, low, side="right")
    return number


def _in_step(found: Signals, place: IntArray, count: int) -> BoolArray:
    """Which evaluation forwards are part of a training step rather than of a validation.

    The step's own forward came first; or a batch to train on was taken before it (and none to validate on), and no other
    is taken before training goes on. Clearing gradients says nothing: it stands at either end of a step.
    """
    begins = found.evaluating
    other = found.kind != ZERO_GRAD
    real, real_kind = found.training[other], found.kind[other]
    last = np.searchsorted(real, begins)
    previous, previous_kind = np.append(-1, real)[last], np.append(STEP, real_kind)[last]
    following, next_kind = np.append(found.training, count)[place], np.append(found.kind, STEP)[place]
    foreign = found.data[(found.data_loader >= 0) & ~np.isin(found.data, found.training_batch)]
    goes_on = (next_kind != STEP) & (_number_between(found.training_batch, begins, following) == 0)
    goes_on &= _number_between(found.loader_begin, begins, following) == 0
    fresh = (_number_between(found.training_batch, previous, begins) > 0) & (_number_between(foreign, previous, begins) == 0)
    answer: BoolArray = goes_on & ((previous_kind == FORWARD) | fresh)
    return answer


def _region(swept: Swept, found: Signals, borders: IntArray, gap: int, first: int, last: int) -> tuple[int, int]:
    """The evaluation between two training events, as a range of events: its forwards, their ``no_grad``, their data.

    ``first`` is the begin of its first forward, ``last`` the end of its last.
    """
    low = int(swept.nesting.match[found.training[gap - 1]]) if gap else -1
    if low > first:  # within a training span, such as a closure
        low = int(found.training[gap - 1])
    high = int(found.training[gap]) if gap < len(found.training) else len(swept.time) - 1
    before, after = _within(borders, low, first), _within(borders, last, high)
    low = int(before[-1]) if len(before) else low
    high = int(after[0]) if len(after) else high

    fetched = _within(found.data, low, first)
    at = np.searchsorted(found.training_batch, fetched)
    feeds = np.append(found.training_batch, -1)[at] == fetched
    foreign = fetched[~feeds & (found.data_loader[np.searchsorted(found.data, fetched)] >= 0)]
    asked = _within(found.loader_begin[~found.loader_trains], low, first)
    starts = [first, *_outermost(found.marks, low, first)[:1]]
    starts += [int(places[0]) for places in (foreign, asked, _within(found.marks["model.eval"], low, first)) if len(places)]

    open_at = _outermost(found.marks, low, last)
    end = _left(found.marks, last, high, len(open_at)) if open_at else None
    if end is None:
        trains = _within(found.marks["model.train"], last, high + 1)
        end = int(trains[0]) if len(trains) else last
    return min(starts), end


def _within(places: IntArray, low: int, high: int) -> IntArray:
    """Those strictly between two events."""
    return places[np.searchsorted(places, low, side="right") : np.searchsorted(places, high)]


def _switches(marks: dict[str, IntArray], low: int, high: int) -> list[tuple[int, int]]:
    """Entering (1) and leaving (-1) ``no_grad`` between two events, in order."""
    enters, leaves = (_within(marks[name], low, high).tolist() for name in ("no_grad.enter", "no_grad.exit"))
    return sorted([(place, 1) for place in enters] + [(place, -1) for place in leaves])


def _outermost(marks: dict[str, IntArray], low: int, place: int) -> list[int]:
    """The ``no_grad`` entered after ``low`` that are still open at ``place``, outermost first."""
    entered: list[int] = []
    for at, switch in _switches(marks, low, place):
        if switch > 0:
            entered.append(at)
        elif entered:
            entered.pop()
    return entered


def _left(marks: dict[str, IntArray], place: int, high: int, depth: int) -> int | None:
    """Where the outermost of ``depth`` open ``no_grad`` is left, None if not before ``high``."""
    for at, switch in _switches(marks, place, high + 1):
        depth += switch
        if depth == 0:
            return at
    return None
