"""Row kernels that keep a row in registers: each element is loaded once, by vector loads.

The bodies have the names and parameters of those in ``rows.py``, which handles longer rows.
"""

from __future__ import annotations

LONGEST = 16384  # elements of a row
_EACH = 32  # elements that a thread holds at most

# A thread holds HELD vectors of VECTOR adjacent elements; those past the end of a row have a fill value.
TEXT = """
#define HELD @HELD@
#define VECTOR @VECTOR@
struct alignas(VECTOR * sizeof(T)) Vector { T x[VECTOR]; };
#define PLACE(k) (((k) * GROUP + LANE) * VECTOR)
template <class S> __device__ inline void load(const T* p, A (&v)[HELD * VECTOR], int n, S fill) {
    #pragma unroll
    for (int k = 0; k < HELD; k++) {
        Vector part;
        bool inside = PLACE(k) < n;
        if (inside) part = *(const Vector*)(p + PLACE(k));
        #pragma unroll
        for (int j = 0; j < VECTOR; j++) v[k * VECTOR + j] = inside ? (A)value(part.x[j]) : (A)fill;
    }
}
__device__ inline void store(T* p, const A (&v)[HELD * VECTOR], int n) {
    #pragma unroll
    for (int k = 0; k < HELD; k++) if (PLACE(k) < n) {
        Vector part;
        #pragma unroll
        for (int j = 0; j < VECTOR; j++) part.x[j] = STORE((v[k * VECTOR + j]));
        *(Vector*)(p + PLACE(k)) = part;
    }
}
#define HOLD(name) A name[HELD * VECTOR]
#define OF_ALL(i) _Pragma("unroll") for (int i = 0; i < HELD * VECTOR; i++)
#define INSIDE(i) (PLACE((i) / VECTOR) < n)
"""

BODIES = {
    "softmax": """
    const A lowest = -(A)__int_as_float(0x7f800000);
    HOLD(v);
    load(in + row * n, v, n, lowest);
    A top = lowest;
    OF_ALL(i) top = larger(top, v[i]);
    top = row_max(top);
    A total = 0;
    @HELD_FINISH@
    store(out + row * n, v, n);""",
    "softmax_backward": """
    HOLD(g); HOLD(y);
    load(grad + row * n, g, n, 0);
    load(result + row * n, y, n, 0);
    A total = 0;
    OF_ALL(i) total += @HELD_TERM@;
    total = row_sum(total);
    OF_ALL(i) { A d = g[i], r = y[i]; g[i] = @FINISH@; }
    store(out + row * n, g, n);""",
    "layer_norm": """
    HOLD(v);
    load(in + row * n, v, n, 0);
    A mean = 0;
    OF_ALL(i) mean += v[i];
    mean = row_sum(mean) / n;
    A spread = 0;
    OF_ALL(i) if (INSIDE(i)) { v[i] -= mean; spread += v[i] * v[i]; }
    spread = row_sum(spread) / n;
    A scale = rsqrt(spread + eps);
    OF_ALL(i) v[i] *= scale;
    if (standard) store(standard + row * n, v, n);
    if (weight) { HOLD(w); load(weight, w, n, 0); OF_ALL(i) v[i] *= w[i]; }
    if (bias) { HOLD(b); load(bias, b, n, 0); OF_ALL(i) v[i] += b[i]; }
    store(out + row * n, v, n);
    if (LANE == 0) { if (variance) variance[row] = STORE(spread); if (means) means[row] = STORE(mean); if (kept) { kept[2 * row] = mean; kept[2 * row + 1] = scale; } }""",
    "layer_norm_input_backward": """
    HOLD(g); HOLD(s);
    A mean = kept[2 * row], scale = kept[2 * row + 1];
    load(grad + row * n, g, n, 0);
    load(in + row * n, s, n, mean);
    if (weight) { HOLD(w); load(weight, w, n, 0); OF_ALL(i) g[i] *= w[i]; }
    A total = 0, slope = 0;
    OF_ALL(i) { s[i] = (s[i] - mean) * scale; total += g[i]; slope += g[i] * s[i]; }
    total = row_sum(total) / n;
    slope = row_sum(slope) / n;
    OF_ALL(i) g[i] = scale * (g[i] - total - s[i] * slope);
    store(out + row * n, g, n);""",
    "layer_norm_backward": """
    HOLD(g); HOLD(s);
    load(grad + row * n, g, n, 0);
    load(standard + row * n, s, n, 0);
    if (weight) { HOLD(w); load(weight, w, n, 0); OF_ALL(i) g[i] *= w[i]; }
    A total = 0, slope = 0;
    OF_ALL(i) { total += g[i]; slope += g[i] * s[i]; }
    total = row_sum(total) / n;
    slope = row_sum(slope) / n;
    A scale = rsqrt((A)value(variance[row]) + eps);
    OF_ALL(i) g[i] = scale * (g[i] - total - s[i] * slope);
    store(out + row * n, g, n);""",
}

SOFTMAX_FINISH = {
    False: "OF_ALL(i) { v[i] = exp(v[i] - top); total += v[i]; } total = row_sum(total); A factor = 1 / total; OF_ALL(i) v[i] *= factor;",
    True: "OF_ALL(i) total += exp(v[i] - top); total = row_sum(total); A shift = top + log(total); OF_ALL(i) v[i] -= shift;",
}
_TWO = ("softmax_backward", "layer_norm_backward", "layer_norm_input_backward")  # hold two rows


def arrangement(name: str, n: int, aligned: bool) -> tuple[int, int, int] | None:
    """Threads per row, vectors per thread, and the vector width; None where the row does not fit in registers."""
    if name not in BODIES or n > LONGEST:
        return None
    vector = 4 if aligned and n % 4 == 0 else 1
    most = _EACH // 2 if name in _TWO else _EACH
    group = 32 if n <= 256 else 128  # rows of more than a few elements each are fastest with several warps, as measured
    while group * most < n:
        group *= 2
    if group > 1024:
        return None
    vectors = 1
    while group * vectors * vector < n:
        vectors *= 2
    return group, vectors, vector
