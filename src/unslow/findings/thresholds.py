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

TRACEBACK_NS = 60_000
"""The most that anomaly mode takes for a node of the graph: formatting a traceback of ten to twenty frames, and a search for NaN."""

PYTHON_SHARE = 1.4
"""What a forward or backward takes over its operators: the Python between them, autograd's own work."""

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

RUN_LENGTHENS = 2.0
"""New data trained on in this many times as many steps late as early: a fixed number of passes over them stays the same."""

REPEATED_FORWARD = 0.8
"""In this share of the steps that were looked at the model ran on one input more than once: the step is written so."""

DATA_KIND_LEADS = 0.4
"""A kind of work that holds two fifths of making the batches is what to begin with; the smaller ones stand under it."""

LONG_SAMPLE_NS = 500_000
"""From half a millisecond a sample on, it is work and not the way to it: one call for the whole batch takes nearly as long."""

IDLE_CORES = 0.7
"""A core that is idle this much of the time can carry one more worker."""

BUSY_WORKERS = 0.7
"""Workers that work for less of their time than this wait themselves: more of them change nothing."""

OFTEN = 0.2
"""Something done at least once in five steps is done at each step as far as its cost is concerned."""

OTHERS_CORES = 0.3
"""The part of all cores that other programs must take, with all cores busy, before the run counts as crowded out."""

PAGES_PER_SECOND = 200
"""Pages read back from swap in a second while training; a page from a disk takes 0.1 to 10 ms of the thread that wanted it."""

PAGE_IN_NS = 100_000
"""Reading one page back from a fast disk."""

SLOW_IMPORT_NS = 1_000_000_000
"""An import below a second is not what a person waits for."""

SLOW_IMPORT_SHARE = 0.2
"""The share of the whole run that one avoidable import must take."""

USUAL_TEARDOWN_NS = 800_000_000
"""Leaving with a framework loaded takes 0.3 to 0.8 s: freeing its memory, its threads and its modules."""

OVERSUBSCRIBED = 1.5
"""Threads a core from which on they must take turns; a few more threads than cores are ordinary."""

THREADS_STALL = 3.0
"""Steps that take this many times what their operators need are not at work: needs are counted cautiously, Python is within twice."""

TINY_WORK_NS = 300_000
"""Work of one operator on one core: beyond this, two threads do save more than waking and joining them costs."""

EVALUATION_SHARE = 0.3
"""Up to here validation after each update is a custom (one update an epoch on a small graph); beyond it is most of what could be gained."""

EMULATED = 3.0
"""A product in 16 bits that takes this many times what it would in float32: the processor converts number by number."""

RECOMPILED = 2
"""One recompilation is how a compiler learns that a size varies; from the second on it is a pattern."""

COMPILING_SHARE = 0.2
"""Compiling less than a fifth of a run is what compiling costs."""

EAGER_AT_MOST = 2.0
"""A compiled step on a CPU is seldom more than twice as fast as an eager one."""

MANY_OPERATORS = 300
"""Operators a step from which on their calls are worth thinking about: a small network trained on purpose has 50 to 150."""

CALLS_SHARE = 0.8
"""The share of the operators' time that is calling them."""

NAMED_ONLY = 0.12
"""A share of the run that gives 1.14: what is supposed, but not measured, stays below what is worth fixing."""

LAYER_CALLS = 25
"""What a call of a recurrent layer and its backward cost beside the arithmetic, in calls of an operator; measured for GRU and RNN."""

CONTROL_SHARE = 0.2
"""The rest of a step must be this part of it before it can tell whether the whole machine became slower."""
