/* Random numbers of NumPy's generator SFC64: uniform noise on inputs, and normal numbers.

   Compile without contracting products and sums (-ffp-contract=off): every value is then the one
   that NumPy gives, bit for bit. */

#include <stddef.h>
#include <stdint.h>

/* On x86 the loader chooses the widest vectors that the processor has. Lanes round alike. */
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__)
#define WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDEST
#endif

enum { SOME = 512 }; /* numbers worked on together: as many as are stored while the next are drawn */

static inline float within(float v, float low, float high)
{
    v = v > low ? v : low;
    return v < high ? v : high;
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

/* x + (u * factor + shift) within the bounds, u being the upper 24 of 32 bits. */
WIDEST static void add_shares(const float *restrict x, const uint32_t *restrict bits, int count,
                              float factor, float shift, float low, float high,
                              float *restrict out)
{
    for (int i = 0; i < count; i++) {
        float u = (float)(int32_t)(bits[i] >> 8) * (1.0f / 16777216.0f);
        out[i] = within(u * factor + shift + x[i], low, high);
    }
}

/* Rows [start, stop) of a block of uniform noise: the generator's key, and the noise of a number u
   of [0, 1), u * factor + shift. */
struct part {
    uint64_t key[3];
    int64_t start, stop;
    float factor, shift;
};

/* Parts of blocks one after the other, on rows of `size` values: row rows[i] of x plus noise is the
   i-th row of `out`, within the bounds. The numbers u are those that NumPy draws from SFC64 with
   the key: of each number of 64 bits first the lower half, then the upper, 24 bits of each. */
void add_uniform(float *restrict out, const float *restrict x, const int64_t *rows,
                 const struct part *parts, ptrdiff_t count, ptrdiff_t size, float low, float high)
{
    uint32_t bits[SOME + 2];
    for (const struct part *p = parts; p < parts + count; p++) {
        struct sfc64 state = {p->key[0], p->key[1], p->key[2], 1};
        ptrdiff_t skipped = p->start * size, left = (p->stop - p->start) * size, place = 0;
        int have = 0; /* numbers at the front of `bits` that are not used yet */
        for (ptrdiff_t i = 0; i < skipped / 2; i++)
            next(&state);
        if (skipped % 2)
            bits[have++] = next(&state) >> 32;
        while (left > 0) {
            int some = left < SOME ? (int)left : SOME;
            while (have < some) {
                uint64_t number = next(&state);
                bits[have] = (uint32_t)number;
                bits[have + 1] = (uint32_t)(number >> 32);
                have += 2;
            }
            for (int done = 0; done < some;) {
                int line = size - place < some - done ? (int)(size - place) : some - done;
                add_shares(x + *rows * size + place, bits + done, line, p->factor, p->shift, low,
                           high, out);
                out += line;
                done += line;
                place += line;
                if (place == size)
                    place = 0, rows++;
            }
            if (have > some)
                bits[0] = bits[some];
            have -= some;
            left -= some;
        }
    }
}

/* Numbers of 32 bits as NumPy takes them from SFC64, the lower half of 64 bits first. */
struct halves {
    struct sfc64 state;
    uint32_t left;  /* whether the upper half is not used yet */
    uint32_t upper;
    int again;      /* whether `last` is to come once more */
    uint32_t last;
};

/* What NumPy's functions draw from (numpy/random/bitgen.h), and its standard normal numbers. */
struct bitgen {
    void *state;
    uint64_t (*next_uint64)(void *);
    uint32_t (*next_uint32)(void *);
    double (*next_double)(void *);
    uint64_t (*next_raw)(void *);
};
typedef float normal_function(struct bitgen *);

/* NumPy's ziggurat: a number of 32 bits says the layer, the sign and a place; places below
   `inner` are normal numbers at once, `width` apart. */
struct ziggurat {
    uint32_t inner[256];
    float width[256];
};

static inline uint32_t next_half(struct halves *h)
{
    h->left = !h->left;
    if (!h->left)
        return h->upper;
    uint64_t number = next(&h->state);
    h->upper = number >> 32;
    return (uint32_t)number;
}

static uint32_t next_or_last(void *state)
{
    struct halves *h = state;
    if (!h->again)
        return next_half(h);
    h->again = 0;
    return h->last;
}

/* The first number, then 0 and the highest in turn: with these NumPy's function soon returns. */
struct trial {
    uint32_t first, calls;
};

static uint32_t next_of_trial(void *state)
{
    struct trial *t = state;
    t->calls++;
    return t->calls == 1 ? t->first : t->calls % 2 ? UINT32_MAX : 0;
}

/* The ziggurat of this function: by what it returns, and by whether one number was enough. */
void read_ziggurat(struct ziggurat *z, normal_function *normal)
{
    struct trial t;
    struct bitgen source = {&t, 0, next_of_trial, 0, 0};
    for (uint32_t layer = 0; layer < 256; layer++) {
        uint32_t fewest = 0, most = 1 << 23;
        while (fewest < most) {
            uint32_t place = (fewest + most) / 2;
            t = (struct trial){layer | place << 9, 0};
            normal(&source);
            if (t.calls == 1)
                fewest = place + 1;
            else
                most = place;
        }
        z->inner[layer] = fewest;
        t = (struct trial){layer | 1 << 9, 0};
        z->width[layer] = normal(&source);
    }
}

/* `count` standard normal numbers, as NumPy draws them from SFC64 in this state. What is not within
   the layers, one number in a hundred, NumPy's function draws itself. */
void normals(float *out, ptrdiff_t count, struct halves *from, const struct ziggurat *z,
             normal_function *normal)
{
    struct halves h = *from;
    for (ptrdiff_t i = 0; i < count; i++) {
        uint32_t r = next_half(&h), layer = r & 255, place = r >> 9;
        union { float number; uint32_t bits; } x = {(float)(int32_t)place * z->width[layer]};
        x.bits ^= r << 23 & 0x80000000u;
        if (place >= z->inner[layer]) {
            *from = h;
            from->again = 1, from->last = r;
            struct bitgen source = {from, 0, next_or_last, 0, 0};
            x.number = normal(&source);
            h = *from;
        }
        out[i] = x.number;
    }
    *from = h;
}
