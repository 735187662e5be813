"""What runs inside the user's process: standard library only, appends to a stream, never raises into the script."""
