"""JSON for the probe: a few flat objects, written without importing the ``json`` package into the user's process."""

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quote(text: str) -> str:
    """A JSON string; lone surrogates of odd file names become escapes."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    parts = []
    for character in text:
        number = ord(character)
        if character in _ESCAPES:
            parts.append(_ESCAPES[character])
        elif number < 32 or 0xD800 <= number <= 0xDFFF:
            parts.append(f"\\u{number:04x}")
        else:
            parts.append(character)
    return '"' + "".join(parts) + '"'


def dump(value: object) -> str:
    """JSON of None, bool, int, float, str, and lists, tuples and dicts of those; anything else as its ``str``."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return quote(str(value))
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return float.__repr__(value) if value - value == 0.0 else quote(float.__repr__(value))
    if isinstance(value, dict):
        return "{" + ",".join(quote(str(key)) + ":" + dump(item) for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(dump(item) for item in value) + "]"
    return quote(str(value)[:500])
