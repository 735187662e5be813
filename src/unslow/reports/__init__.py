"""The forms of a report: each draws an account and computes nothing."""
