"""Autograd's anomaly mode was left on: every operation keeps its traceback, every gradient is searched for NaN."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.account.model import Fix, Where
from unslow.findings.context import Context
from unslow.findings.draft import Draft, evidence
from unslow.findings.lines import unique
from unslow.findings.operators import short, typical
from unslow.findings.thresholds import PYTHON_SHARE, TRACEBACK_NS

CAUSE = "debug.anomaly"
_CHECKS = ("isnan", "any", "_is_any_true", "_local_scalar_dense")
_WORK = ("forward", "loss", "backward", "script", "optimizer")
# What formatting a traceback runs through.
_FILES = ("/traceback.py", "/linecache.py", "/codecs.py", "/tokenize.py", "/re/", "anomaly_mode.py")


def check(context: Context) -> Iterator[Draft]:
    """Whether the mode was on while training, what its tracebacks took by the samples, and its checks by inspected steps."""
    sites = _switched_on(context)
    if sites is None or not context.steps:
        return
    nodes = max((int(step.get("seen", {}).get("nodes") or 0) for step in context.inspected), default=0)
    searching = sum(one.ns for one in typical(context, "backward") if short(one) in _CHECKS) * context.steps
    tracing = sum(context.leaf_ns(part, *_WORK) for part in _FILES)
    # What forward and backward take beyond their operators; of that no more than tracebacks can be.
    plain = sum(one.ns for one in typical(context) if one.phase in ("forward", "backward") and short(one) not in _CHECKS)
    beyond = context.ns("forward", "loss", "backward") - PYTHON_SHARE * plain * context.steps
    held = max(min(beyond, nodes * TRACEBACK_NS * context.steps), tracing + searching)
    held = min(held, context.ns(*_WORK))
    if held <= 0:
        return
    yield Draft(
        cause=CAUSE,
        title=(
            f"anomaly detection is on in all {context.steps} steps: a traceback is kept for each of {nodes} operations a step "
            f"and each gradient searched for NaN, {held / context.steps / 1e6:.2g} ms a step"
        ),
        ns=round(held),
        saved=(0.7 * held, held, 1.2 * held),
        evidence=(
            evidence("seen formatting tracebacks of operations", tracing / 1e9, "s"),
            evidence("operators that search gradients for NaN", searching / 1e9, "s"),
            evidence("operations a step that keep a traceback", nodes, "nodes"),
        ),
        where=unique(sites),
        fix=Fix("anomaly-off", "safe", "torch.autograd.set_detect_anomaly(False), or delete the line: it is for the hour of debugging"),
        confidence=0.95,
        explains=frozenset({"dispatch.small_ops", "dispatch.python_loop", "threads.overhead_small_ops"}),
    )


def _switched_on(context: Context) -> list[Where] | None:
    """The lines that switch it on, if it was on in training; None if not."""
    told = [fact for lane, fact in context.lane_facts("setting ") if context.main is not None and lane.pid == context.main.lane.pid]
    told = [fact for fact in told if str(fact["name"]).endswith("detect_anomaly") and isinstance(fact.get("value"), dict)]
    on = [fact["value"] for fact in told if _turns_on(fact)]
    scoped = sum(str(fact["name"]) == "setting detect_anomaly" for fact in told)
    if not context.facts.get("anomaly") and 4 * len(on) < context.steps:
        return None
    if not context.facts.get("anomaly") and not scoped and not any(value.get("value") for value in on):
        return None
    return [Where(str(value["site"][0]), int(value["site"][1]), value["site"][2]) for value in on if value.get("site")]


def _turns_on(fact: dict[str, object]) -> bool:
    # ``detect_anomaly(check_nan)`` has no off; ``set_detect_anomaly(mode)`` has.
    value = fact["value"]
    return str(fact["name"]) == "setting detect_anomaly" or (isinstance(value, dict) and value.get("value") not in (False, None))
