"""Numbers written as codes."""

BASE62 = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
# Without 0, O, I and l, which people confuse when they read a code aloud or type it.
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def base62(number: int, length: int) -> str:
    """`number` in Base62, padded to `length` characters."""
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(BASE62[digit])
    return "".join(reversed(digits))


def base58(number: int) -> str:
    digits = []
    while number:
        number, digit = divmod(number, 58)
        digits.append(BASE58[digit])
    return "".join(reversed(digits)) or BASE58[0]
