"""Starts the script from outside: command, environment, signals, exit code, and the wall time from exec to the reaped exit."""
