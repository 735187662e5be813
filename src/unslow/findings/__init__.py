"""Why the time went: one rule per cause, each from a stall that was measured; the engine puts the root first."""
