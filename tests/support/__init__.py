"""What several tests share: running a script under plain Python and under unslow, and comparing."""
