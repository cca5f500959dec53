/* Images sampled between their pixels and blurred along lines: what warp.py and tap_sum.py do with
   NumPy, rounded alike.

   Compile without contracting products and sums (-ffp-contract=off): every value is then the one
   that NumPy gives, bit for bit. */

#include <math.h>
#include <stddef.h>

/* On x86 the loader chooses the widest vectors that the processor has. Lanes round alike. */
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__)
#define WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDEST
#endif

enum { SOME = 8192 }; /* places worked on together, so that they stay in a near cache */

/* Pixels along an axis. Beyond them lies the last one for ever or, where mirrored, the image in
   a mirror that stands so far beyond the middle of the last pixel. */
struct axis {
    int size, mirrored;
    float beyond;
};

/* Of this source, as the one who compiles it says: a library of another is not used. */
long long digest(void) { return DIGEST; }

static inline int smaller(int a, int b) { return a < b ? a : b; }

/* The last pixel before each place, and how far beyond it the place is. */
WIDEST static void part(const float *at, ptrdiff_t step, int count, struct axis k, int *whole,
                 float *share)
{
    float most = k.size - 1, high = most + k.beyond, period = 2 * (high + k.beyond);
    float often = 1 / period, here[SOME];
    for (int i = 0; i < count; i++)
        here[i] = at[i * step];
    if (k.mirrored && k.size > 1)
        for (int i = 0; i < count; i++) {
            float v = here[i], back = -2 * k.beyond - v;
            v = v > back ? v : back;
            v -= floorf((v + k.beyond) * often) * period;
            back = 2 * high - v;
            here[i] = v < back ? v : back;
        }
    for (int i = 0; i < count; i++) {
        float v = here[i] > 0 ? here[i] : 0; /* also where it is no number */
        v = v < most ? v : most;
        whole[i] = (int)v;
        share[i] = v - (float)whole[i];
    }
}

static inline float between(float a, float b, float c, float d, float right, float down)
{
    float upper = a + (b - a) * right, lower = c + (d - c) * right;
    return upper + (lower - upper) * down;
}

static inline float within(float v, float low, float high)
{
    v = v > low ? v : low;
    return v < high ? v : high;
}

/* Places of a plane whose four neighbours lie within it. One beyond the last column is the first
   of the next row: its share is 0. The offsets are arguments so that compilers find vectors. */
WIDEST static void blend(const float *restrict x, const int *restrict index, const float *restrict right,
                  const float *restrict down, int count, int beside, int below, float low,
                  float high, float *restrict out)
{
    for (int i = 0; i < count; i++) {
        const float *at = x + index[i];
        float v = between(at[0], at[beside], at[below], at[below + beside], right[i], down[i]);
        out[i] = within(v, low, high);
    }
}

/* The same for any places of a plane with `most` as its last pixel. */
WIDEST static void blend_at_the_end(const float *x, const int *index, const float *right,
                             const float *down, int count, int below, int most, float low,
                             float high, float *out)
{
    for (int i = 0; i < count; i++) {
        int a = index[i], b = smaller(a + 1, most);
        int c = smaller(a + below, most), d = smaller(c + 1, most);
        out[i] = within(between(x[a], x[b], x[c], x[d], right[i], down[i]), low, high);
    }
}

/* A line of places of a perspective: what the row and the column add to the place, over what they
   add to a third number. At the horizon, where that is 0, it counts as a millionth. */
WIDEST static void project(const float *sums, int row, int rows, int columns, int from, int count,
                    float *restrict y, float *restrict x)
{
    int all = rows + columns;
    const float *high = sums + rows + from, *wide = high + all, *far = wide + all;
    float a = sums[row], b = sums[all + row], c = sums[2 * all + row];
    for (int i = 0; i < count; i++) {
        float under = far[i] + c;
        under = under < 1e-6f && under > -1e-6f ? 1e-6f : under;
        y[i] = (high[i] + a) / under;
        x[i] = (wide[i] + b) / under;
    }
}

/* n images (channels, height, width), the next of which is x_next further on, at the rows ys
   and columns xs; y and z are the steps to the next grid, row and column of either. Where xs is
   NULL, ys are the numbers of perspectives: for row, column and divisor of a place those of all
   rows and then of all columns. */
void sample(float *restrict out, const float *restrict x, const float *restrict ys,
            const float *restrict xs, ptrdiff_t n, ptrdiff_t channels, int height, int width,
            int rows, int columns, ptrdiff_t x_next, const ptrdiff_t *y, const ptrdiff_t *z,
            int mirrored, float beyond, float low, float high)
{
    struct axis tall = {height, mirrored, beyond}, wide = {width, mirrored, beyond};
    ptrdiff_t alike = y[0] == 0 && z[0] == 0 ? n : 1; /* images that meet the same places */
    ptrdiff_t made = (ptrdiff_t)rows * columns;
    int plane = height * width, broad = smaller(columns, SOME), lines = SOME / broad;
    int index[SOME], left[SOME];
    float down[SOME], right[SOME], y_line[SOME], x_line[SOME];
    for (ptrdiff_t first = 0; first < n; first += alike)
        for (int top = 0; top < rows; top += lines)
            for (int from = 0; from < columns; from += broad) {
                int count = 0, inside = 1, line = smaller(columns - from, broad);
                for (int j = top; j < smaller(rows, top + lines); j++, count += line) {
                    const float *at = y_line, *beside = x_line;
                    if (xs) {
                        at = ys + first * y[0] + j * y[1] + from * y[2];
                        beside = xs + first * z[0] + j * z[1] + from * z[2];
                    } else
                        project(ys + first * y[0], j, rows, columns, from, line, y_line, x_line);
                    part(at, y[2], line, tall, index + count, down + count);
                    part(beside, z[2], line, wide, left + count, right + count);
                }
                for (int i = 0; i < count; i++) {
                    index[i] = index[i] * width + left[i];
                    inside &= index[i] < plane - width - 1;
                }
                for (ptrdiff_t p = first * channels; p < (first + alike) * channels; p++) {
                    const float *given = x + p / channels * x_next + p % channels * plane;
                    float *to = out + p * made + (ptrdiff_t)top * columns + from;
                    if (inside)
                        blend(given, index, right, down, count, width > 1, width, low, high, to);
                    else
                        blend_at_the_end(given, index, right, down, count, width, plane - 1, low,
                                         high, to);
                }
            }
}

/* Planes of `wide` columns read at a few offsets, each times its weight, added one after the other.
   Four at a time, so that sums are read and written less often. */
WIDEST static void add_taps(const float *restrict at, const float *w, const int *offset, int taps,
                     int count, float *restrict out)
{
    int t = 0;
    for (int i = 0; i < count; i++)
        out[i] = 0;
    for (; t + 4 <= taps; t += 4) {
        const float *a = at + offset[t], *b = at + offset[t + 1];
        const float *c = at + offset[t + 2], *d = at + offset[t + 3];
        for (int i = 0; i < count; i++)
            out[i] = out[i] + a[i] * w[t] + b[i] * w[t + 1] + c[i] * w[t + 2] + d[i] * w[t + 3];
    }
    for (; t < taps; t++)
        for (int i = 0; i < count; i++)
            out[i] += at[offset[t] + i] * w[t];
}

/* n images (channels, height, width) under taps first[k] … first[k + 1] - 1 of each. A plane is
   first laid into `frame` (tall, wide), which shows the rows and columns of these numbers. */
void blur(float *restrict out, const float *restrict x, float *restrict frame,
                 const int *row, const int *column, const float *weights, const int *offsets,
                 const int *first, ptrdiff_t n, ptrdiff_t channels, int height, int width, int tall,
                 int wide, ptrdiff_t x_next)
{
    for (ptrdiff_t p = 0; p < n * channels; p++) {
        const float *plane = x + p / channels * x_next + p % channels * height * width;
        int begin = first[p / channels], taps = first[p / channels + 1] - begin;
        for (int j = 0; j < tall; j++)
            for (int i = 0; i < wide; i++)
                frame[j * wide + i] = plane[row[j] * width + column[i]];
        for (int j = 0; j < height; j++, out += width)
            add_taps(frame + j * wide, weights + begin, offsets + begin, taps, width, out);
    }
}
