/* Images sampled between their pixels: what warp.py does with NumPy, rounded alike.

   Compile without contracting products and sums (-ffp-contract=off): every value is then the one
   that NumPy gives, bit for bit. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>

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
static void part(const float *at, ptrdiff_t step, int count, struct axis k, int *whole,
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
static void blend(const float *restrict x, const int *restrict index, const float *restrict right,
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
static void blend_at_the_end(const float *x, const int *index, const float *right,
                             const float *down, int count, int below, int most, float low,
                             float high, float *out)
{
    for (int i = 0; i < count; i++) {
        int a = index[i], b = smaller(a + 1, most);
        int c = smaller(a + below, most), d = smaller(c + 1, most);
        out[i] = within(between(x[a], x[b], x[c], x[d], right[i], down[i]), low, high);
    }
}

/* n images (channels, height, width), the next of which is x_next further on, at the rows ys
   and columns xs; y and z are the steps to the next grid, row and column of either. */
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
    float down[SOME], right[SOME];
    for (ptrdiff_t first = 0; first < n; first += alike)
        for (int top = 0; top < rows; top += lines)
            for (int from = 0; from < columns; from += broad) {
                int count = 0, inside = 1, line = smaller(columns - from, broad);
                for (int j = top; j < smaller(rows, top + lines); j++, count += line) {
                    const float *at = ys + first * y[0] + j * y[1] + from * y[2];
                    part(at, y[2], line, tall, index + count, down + count);
                    at = xs + first * z[0] + j * z[1] + from * z[2];
                    part(at, z[2], line, wide, left + count, right + count);
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

/* The state of an SFC64 generator, as NumPy has it, and the half of a number that is left. */
struct sfc64 {
    uint64_t a, b, c, count;
};

static inline uint64_t next(struct sfc64 *s)
{
    uint64_t number = s->a + s->b + s->count++;
    s->a = s->b ^ (s->b >> 11);
    s->b = s->c + (s->c << 3);
    s->c = ((s->c << 24) | (s->c >> 40)) + number;
    return number;
}

/* Rows [start, stop) of a block of uniform noise on rows of `size` values: x + (u * factor + shift),
   within the bounds. The numbers u are those that NumPy draws from SFC64 with this key: of each
   number of 64 bits first the lower half, then the upper, 24 bits of each. x_next is the step to
   the next row of x, 0 where all rows are the same. */
void add_uniform(float *restrict out, const float *restrict x, const uint64_t *key, ptrdiff_t start,
                 ptrdiff_t stop, ptrdiff_t size, ptrdiff_t x_next, float factor, float shift,
                 float low, float high)
{
    struct sfc64 state = {key[0], key[1], key[2], 1};
    ptrdiff_t skipped = start * size, left = (stop - start) * size, place = 0, row = 0;
    uint32_t bits[SOME + 2];
    int have = 0; /* numbers at the front of `bits` that are not used yet */
    for (ptrdiff_t i = 0; i < skipped / 2; i++)
        next(&state);
    if (skipped % 2)
        bits[have++] = next(&state) >> 32;
    while (left > 0) {
        int count = left < SOME ? (int)left : SOME;
        while (have < count) {
            uint64_t number = next(&state);
            bits[have] = (uint32_t)number;
            bits[have + 1] = (uint32_t)(number >> 32);
            have += 2;
        }
        for (int done = 0; done < count;) {
            int line = size - place < count - done ? (int)(size - place) : count - done;
            const float *given = x + row * x_next + place;
            const uint32_t *some = bits + done;
            for (int i = 0; i < line; i++) {
                float u = (float)(int32_t)(some[i] >> 8) * (1.0f / 16777216.0f);
                out[i] = within(u * factor + shift + given[i], low, high);
            }
            out += line;
            done += line;
            place += line;
            if (place == size)
                place = 0, row++;
        }
        if (have > count)
            bits[0] = bits[count];
        have -= count;
        left -= count;
    }
}
