"""A module beside the driver: Ray's processes find it on every node."""


def count(low, high):
    """How many primes there are from low up to, but without, high."""
    sieve = bytearray([1]) * high
    sieve[:2] = bytes(2)
    for n in range(2, int(high**0.5) + 1):
        if sieve[n]:
            sieve[n * n :: n] = bytes(len(range(n * n, high, n)))
    return sum(sieve[low:high])
