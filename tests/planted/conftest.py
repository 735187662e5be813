"""A planted delay that is missed on a busy machine is measured twice more; both must find it."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test of this folder; where it fails, again from the start, two times, of which neither may fail."""
    if HERE not in item.path.parents:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if any(report.failed for report in reports):
        for _ in range(2):
            item._initrequest()  # type: ignore[attr-defined]
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
            if any(report.failed for report in reports):
                break
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
