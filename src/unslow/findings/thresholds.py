"""Every threshold of the rules in one place, each with its reason."""

from __future__ import annotations

WORTH_FIXING = 1.15
"""A gain below this is no reason to touch a working script: two runs on a shared machine differ by as much."""

WORTH_NAMING = 1.10
"""Below this a finding is not even mentioned."""

SHARE_OF_LOOP = 0.12
"""The least share of the training time that a stall must hold: what would give about 1.15 if it vanished completely."""

CHEAP_SAMPLE_NS = 40_000
"""Fetching a row of a tensor and stacking it takes 5 to 30 µs, nearly all of it call overhead; real reading or decoding takes more."""

HEAVY_SAMPLE_NS = 20_000
"""A transform under this per sample is call overhead, not work."""

SMALL_OPERATOR_NS = 20_000
"""An operator on a few thousand numbers is done in 2 to 20 µs, mostly spent on getting there."""

MANY_TENSORS = 100
"""With fewer parameters the per-tensor cost of an optimizer (5 to 10 µs each) stays below a millisecond a step."""

LOOPED_CALLS = 48
"""The same operator on the same shapes this often in one step comes from a loop; deep networks repeat a shape some dozen times."""

SUBNORMAL_SHARE = 0.02
"""From some per cent on, the microcode assist of each subnormal (about 150 cycles) outweighs the arithmetic around it."""

GROWTH = 1.5
"""The last quarter of the steps takes this many times the first quarter before growth is a claim; noise stays below it."""

EVALUATION_EVERY = 25
"""Validation more often than every 25 updates tells little that is new."""

ROWS_USED = 0.02
"""Fewer than this part of an embedding table touched per step: the dense update moves fifty times more than it needs."""

PADDING_SHARE = 0.4
"""Two fifths of all tokens one and the same filler, at the ends of rows."""

BUSY_CORES = 0.5
"""Half a core that works for somebody else shows in the step time; less is an ordinary machine's background."""

REPEATED_INPUT = 0.5
"""Half of the inputs of a window of steps had been seen within the same window: no epoch is that short by intent."""
