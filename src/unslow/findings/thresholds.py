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

ROWS_USED = 0.05
"""Fewer than this part of an embedding table touched per step: the dense update moves twenty times more than it needs."""

PADDING_SHARE = 0.4
"""Two fifths of all tokens one and the same filler, at the ends of rows."""

BUSY_CORES = 0.5
"""Half a core that works for somebody else shows in the step time; less is an ordinary machine's background."""

REPEATED_INPUT = 0.5
"""Half of the inputs of a window of steps had been seen within the same window: no epoch is that short by intent."""

GROWTH_SHARE = 0.15
"""What growth costs over the whole run, as a share of training: below this a steady step would not be felt."""

TRACEBACK_NS = 25_000
"""One traceback of ten frames or so, formatted; anomaly mode asks for one with each node of the graph."""

SMALL_TENSOR = 30_000
"""Numbers in a tensor of an optimizer: an operator on as many takes about as long as the call itself; beyond that the memory does."""

FUSED_CALLS = 2.7
"""What a fused optimizer still spends on a tensor (gathering it, its gradient, its state), in calls of an operator; measured for Adam."""

LARGE_TABLE = 1_000_000
"""Numbers in an embedding table: going over 4 MB takes about a millisecond an operator; less is not felt beside a step."""

ASSIST_NS = 45.0
"""The microcode assist of an instruction that meets a subnormal number: about 150 cycles."""

LANES = 12
"""Numbers that share one assist: 8 or 16 in a vector instruction, of which not all are subnormal."""

SINGLE_STEPS = 8
"""Calls of a recurrent layer with one time step each, in one training step: fewer are a short context or a warm start."""

WHOLE_SEQUENCE_RATE = 0.7
"""A recurrent layer over a whole sequence reaches this part of the rate of large matrices: it still goes step by step inside."""
