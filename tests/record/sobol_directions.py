"""Record Joe and Kuo's direction numbers (new-joe-kuo-6.21201) as PyTorch has them, into rushlight/sobol_directions.bin.

    python tests/record/sobol_directions.py     # in an environment with torch 2.13

A dimension but the first has a primitive polynomial over GF(2) of degree s, and s odd numbers m_1 < 2, m_2 < 4, ..., m_s < 2**s.
Polynomials are in order: how far each is from the one before, in steps of 2, is a byte (255: a 2-byte number follows).  Of the numbers m
the lowest bit is known, and the others are written one after another, the k-1 bits of m_k from the highest on.  The file is the
compressed polynomials, their length as 4 bytes before them, and the bits.
"""

from __future__ import annotations

import pathlib
import struct
import zlib

import numpy as np
import torch

FILE = pathlib.Path(__file__).resolve().parent.parent.parent / "rushlight" / "sobol_directions.bin"
BITS = 30


def multiply(a: int, b: int, modulus: int, degree: int) -> int:
    product = 0
    while b:
        if b & 1:
            product ^= a
        b >>= 1
        a <<= 1
        if a >> degree & 1:
            a ^= modulus
    return product


def power(exponent: int, modulus: int, degree: int) -> int:
    """x to a power, modulo a polynomial."""
    result, base = 1, 2
    while exponent:
        if exponent & 1:
            result = multiply(result, base, modulus, degree)
        base, exponent = multiply(base, base, modulus, degree), exponent >> 1
    return result


def primitive_polynomials(degree: int) -> list[int]:
    """In order; x generates all that is not zero."""
    order = (1 << degree) - 1
    primes = [p for p in range(2, order + 1) if order % p == 0 and all(p % q for q in range(2, int(p**0.5) + 1))]
    if degree == 1:
        return [3]
    return [
        candidate
        for candidate in range((1 << degree) + 1, 2 << degree, 2)
        if power(order, candidate, degree) == 1 and all(power(order // prime, candidate, degree) != 1 for prime in primes)
    ]


def main() -> None:
    state = torch.quasirandom.SobolEngine(torch.quasirandom.SobolEngine.MAXDIM).sobolstate.numpy()
    numbers = state >> np.arange(BITS - 1, -1, -1)
    polynomials: list[int] = []
    degree = 0
    while len(polynomials) < len(state) - 1:
        degree += 1
        polynomials += primitive_polynomials(degree)
    polynomials = polynomials[: len(state) - 1]
    steps, bits, last = bytearray(), [], 1
    for row, polynomial in enumerate(polynomials, 1):
        degree = polynomial.bit_length() - 1
        step, last = (polynomial - last) // 2, polynomial
        steps += bytes([step]) if step < 255 else b"\xff" + struct.pack("<H", step)
        for k in range(1, degree + 1):
            number = int(numbers[row, k - 1])
            assert number & 1 and number < 1 << k
            bits += [number >> shift & 1 for shift in range(k - 1, 0, -1)]
        check = [int(each) for each in numbers[row, :degree]]  # the recurrence gives the rest
        for k in range(degree, BITS):
            value = check[k - degree] ^ check[k - degree] << degree
            for j in range(1, degree):
                if polynomial >> degree - j & 1:
                    value ^= check[k - j] << j
            check.append(value)
        assert check == numbers[row].tolist(), row
    packed = zlib.compress(bytes(steps), 9)
    FILE.write_bytes(struct.pack("<I", len(packed)) + packed + np.packbits(bits).tobytes())
    print(f"{len(polynomials) + 1} dimensions, {len(packed)} bytes of polynomials, {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
