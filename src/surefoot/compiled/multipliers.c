/* Multipliers of bounds through dense layers over a box, in float32, and the radii that bounds
   prove, in float64.

   The first does what `optimise_multipliers` (verify/layer_bounds.py) does in NumPy: it proposes,
   and what it proposes is bounded in float64 by others, so neither the order of its sums nor
   contracted products matter. The second does what `proved_radius` (verify/linear_relaxation.py)
   does, in sums of the same terms.

   Sixteen nodes lie side by side: every number of a node is a lane of a row of sixteen, and a node
   that has ended makes room for the next. */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "fp-contract=fast", "no-math-errno", "no-trapping-math")
#elif defined(__clang__)
#pragma clang fp contract(fast)
#endif

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 16, PANEL = 8 };

#define INLINE static inline __attribute__((always_inline))
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__)
#define WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDEST
#endif

typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int mask __attribute__((vector_size(4 * LANES)));
typedef float half __attribute__((vector_size(2 * LANES), may_alias));

#define CHOSEN(where, yes, no) ((lanes)(((where) & (mask)(yes)) | (~(where) & (mask)(no))))

/* out = numbers · matrix for each lane. The matrix lies in panels of eight columns: eight sums stay
   in registers, of vectors as wide as the processor's. */
#define PRODUCT(vector, name)                                                                      \
    INLINE void name(const lanes *numbers, ptrdiff_t count, const float *panel, ptrdiff_t columns, \
                     lanes *out)                                                                   \
    {                                                                                              \
        enum { EACH = sizeof(lanes) / sizeof(vector) };                                            \
        for (ptrdiff_t o = 0; o < columns; o += PANEL, panel += PANEL * count)                     \
            for (int part = 0; part < EACH; part++) {                                              \
                vector s0 = {0}, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;    \
                const vector *x = (const vector *)numbers + part;                                  \
                const float *w = panel;                                                            \
                for (ptrdiff_t k = 0; k < count; k++, w += PANEL, x += EACH) {                     \
                    s0 += *x * w[0], s1 += *x * w[1], s2 += *x * w[2], s3 += *x * w[3];            \
                    s4 += *x * w[4], s5 += *x * w[5], s6 += *x * w[6], s7 += *x * w[7];            \
                }                                                                                  \
                vector sums[PANEL] = {s0, s1, s2, s3, s4, s5, s6, s7};                             \
                for (int i = 0; i < PANEL; i++) ((vector *)(out + o + i))[part] = sums[i];         \
            }                                                                                      \
    }
PRODUCT(lanes, product_of_sixteen)
PRODUCT(half, product_of_eight)

/* Layers, the first one's weights times the half widths of the box and its bias the sums at the
   centre. `values` counts the inputs, then the neurons of each layer. Of the `undecided` neurons of
   layer j, places[j] says where they stand. Matrices lie in panels, both ways. */
struct layers {
    ptrdiff_t depth;
    const ptrdiff_t *values, *undecided, *const *places;
    const float *const *back, *const *forward, *const *bias, *const *slope;
};

/* Nodes: one row of numbers for each. Lines may be the same for all: their step is 0 then. */
struct nodes {
    ptrdiff_t count, columns, width, line_step;
    const float *rows, *constant, *above, *lift, *least, *most, *sign;
    float *alpha, *beta, *best;
};

/* How long a search is, its step sizes, and the bound from which on a node is left alone. */
struct effort {
    ptrdiff_t steps;
    float alpha_rate, beta_rate, enough;
};

/* One group of sixteen. */
struct group {
    lanes *alpha, *beta, *best_alpha, *best_beta, *above, *lift, *least, *most, *sign;
    lanes *alpha_first, *alpha_second, *beta_first, *beta_second, *line, *offset;
    lanes *rows, *coefficients, *sums, *outputs, *corner;
};

/* Numbers of a group in all, or their places in `memory`. */
static ptrdiff_t lay_out(struct group *group, const struct layers *layers,
                         const struct nodes *nodes, lanes *memory)
{
    ptrdiff_t all = 0, widest = 0, taken = 0;
    for (ptrdiff_t j = 1; j <= layers->depth; j++) {
        all += layers->values[j];
        widest = layers->values[j] > widest ? layers->values[j] : widest;
    }
    lanes **columns[] = {
        &group->alpha, &group->beta, &group->best_alpha, &group->best_beta, &group->above,
        &group->lift, &group->least, &group->most, &group->sign, &group->alpha_first,
        &group->alpha_second, &group->beta_first, &group->beta_second, &group->line, &group->offset,
    };
    lanes **others[] = {&group->rows, &group->coefficients, &group->sums, &group->outputs,
                      &group->corner};
    ptrdiff_t sizes[] = {nodes->width, all + PANEL, widest + PANEL, widest + PANEL,
                         layers->values[0] + PANEL};
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++, taken += nodes->columns)
        *columns[i] = memory ? memory + taken : NULL;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        *others[i] = memory ? memory + taken : NULL;
        taken += sizes[i];
    }
    return taken;
}

static void load(const struct group *g, const struct nodes *nodes, ptrdiff_t i, int lane)
{
    ptrdiff_t own = i * nodes->columns, line = i * nodes->line_step;
    for (ptrdiff_t c = 0; c < nodes->columns; c++) {
        g->alpha[c][lane] = g->best_alpha[c][lane] = nodes->alpha[own + c];
        g->beta[c][lane] = g->best_beta[c][lane] = nodes->beta[own + c];
        g->sign[c][lane] = nodes->sign[own + c];
        g->above[c][lane] = nodes->above[line + c];
        g->lift[c][lane] = nodes->lift[line + c];
        g->least[c][lane] = nodes->least[line + c];
        g->most[c][lane] = nodes->most[line + c];
        g->alpha_first[c][lane] = g->alpha_second[c][lane] = 0;
        g->beta_first[c][lane] = g->beta_second[c][lane] = 0;
    }
    for (ptrdiff_t r = 0; r < nodes->width; r++) g->rows[r][lane] = nodes->rows[i * nodes->width + r];
}

static void store(const struct group *g, const struct nodes *nodes, ptrdiff_t i, int lane,
                  float best)
{
    for (ptrdiff_t c = 0; c < nodes->columns; c++) {
        nodes->alpha[i * nodes->columns + c] = g->best_alpha[c][lane];
        nodes->beta[i * nodes->columns + c] = g->best_beta[c][lane];
    }
    nodes->best[i] = best;
}

/* The bounds over the box; kept are each layer's coefficients, the lines chosen, and the corner
   where the bound is reached. */
INLINE lanes bound_group(const struct layers *layers, const struct group *g, lanes value,
                         int sixteen)
{
    const lanes none = {0};
    ptrdiff_t column = 0, start = 0;
    for (ptrdiff_t j = 0; j < layers->depth; j++) {
        column += layers->undecided[j];
        start += layers->values[j + 1];
    }
    for (ptrdiff_t j = layers->depth - 1; j >= 0; j--) {
        ptrdiff_t count = layers->values[j + 1];
        const float *bias = layers->bias[j], *slope = layers->slope[j];
        lanes *k = g->coefficients + (start -= count), *z = g->sums;
        column -= layers->undecided[j];
        memcpy(k, j == layers->depth - 1 ? g->rows : g->outputs, sizeof(lanes) * (size_t)count);
        for (ptrdiff_t i = 0; i < count; i++) z[i] = k[i] * slope[i];
        for (ptrdiff_t u = 0; u < layers->undecided[j]; u++) {
            ptrdiff_t i = layers->places[j][u], c = column + u;
            mask falling = k[i] < none;
            g->line[c] = CHOSEN(falling, g->above[c], g->alpha[c]);
            g->offset[c] = CHOSEN(falling, g->lift[c], none);
            value += k[i] * g->offset[c];
            z[i] = k[i] * g->line[c] - g->beta[c] * g->sign[c];
        }
        for (ptrdiff_t i = 0; i < count; i++) value += z[i] * bias[i];
        lanes *out = j ? g->outputs : g->corner;
        if (sixteen) product_of_sixteen(z, count, layers->back[j], layers->values[j], out);
        else product_of_eight(z, count, layers->back[j], layers->values[j], out);
    }
    lanes lost = none;
    for (ptrdiff_t i = 0; i < layers->values[0]; i++) {
        mask side = (mask)g->corner[i] & (mask)(-none);
        lost += (lanes)((mask)g->corner[i] ^ side);
        g->corner[i] = (lanes)((mask)(none + 1) | side);
    }
    return value - lost;
}

/* The square roots to five digits, which a step needs, in products alone: half a number's bits are
   nearly its logarithm, and Newton's rule does the rest. */
INLINE lanes root_of(lanes squares)
{
    lanes inverse = (lanes)(0x5f3759df - ((mask)squares >> 1));
    for (int i = 0; i < 2; i++) inverse *= 1.5f - squares * 0.5f * inverse * inverse;
    return squares * inverse;
}

/* Adam's step as `adam_step` has it: its two constants depend on how many came before. */
INLINE lanes adam(lanes gradient, lanes *first, lanes *second, lanes small, lanes scale)
{
    *first = *first * 0.9f + gradient;
    *second = *second * 0.999f + gradient * gradient;
    return *first / (root_of(*second) + small) * scale;
}

/* One step uphill: one pass forward through the chosen lines, from the corner. */
INLINE void climb(const struct layers *layers, const struct group *g, const struct effort *effort,
                  lanes small, lanes scale, int sixteen)
{
    const lanes none = {0};
    ptrdiff_t column = 0;
    lanes *v = g->sums, *h = g->outputs, *coefficients = g->coefficients;
    for (ptrdiff_t j = 0; j < layers->depth; j++) {
        ptrdiff_t count = layers->values[j + 1], before = layers->values[j];
        const float *bias = layers->bias[j], *slope = layers->slope[j];
        const lanes *from = j ? h : g->corner;
        if (sixteen) product_of_sixteen(from, before, layers->forward[j], count, v);
        else product_of_eight(from, before, layers->forward[j], count, v);
        for (ptrdiff_t i = 0; i < count; i++) {
            v[i] = j ? v[i] + bias[i] : bias[i] - v[i]; /* the corner shows where it is highest */
            h[i] = v[i] * slope[i];
        }
        for (ptrdiff_t u = 0; u < layers->undecided[j]; u++) {
            ptrdiff_t i = layers->places[j][u], c = column + u;
            lanes k = coefficients[i], sum = v[i];
            h[i] = g->line[c] * sum + g->offset[c];
            lanes step = adam(CHOSEN(k > none, k * sum, none), g->alpha_first + c,
                              g->alpha_second + c, small, scale);
            lanes alpha = g->alpha[c] + step * effort->alpha_rate;
            alpha = CHOSEN(alpha > g->least[c], alpha, g->least[c]);
            g->alpha[c] = CHOSEN(alpha < g->most[c], alpha, g->most[c]);
            step = adam(-sum * g->sign[c], g->beta_first + c, g->beta_second + c, small, scale);
            lanes beta = g->beta[c] + step * effort->beta_rate;
            g->beta[c] = CHOSEN((beta > none) & (g->sign[c] != none), beta, none);
        }
        column += layers->undecided[j];
        coefficients += count;
    }
}

INLINE void search(const struct layers *layers, const struct nodes *nodes,
                   const struct effort *effort, const struct group *g, int sixteen)
{
    ptrdiff_t next = 0, node[LANES], step[LANES] = {0};
    lanes constant = {0}, best = {0}, small = {0}, scale = {0};
    for (int l = 0; l < LANES; l++) node[l] = -1;
    for (;;) {
        int open = 0;
        for (int l = 0; l < LANES; l++) {
            if (node[l] < 0 && next < nodes->count) {
                load(g, nodes, next, l);
                node[l] = next, step[l] = 0, best[l] = -INFINITY;
                constant[l] = nodes->constant[next++];
            }
            open += node[l] >= 0;
        }
        if (!open) return;
        lanes value = bound_group(layers, g, constant, sixteen);
        mask better = value > best;
        best = CHOSEN(better, value, best);
        for (ptrdiff_t c = 0; c < nodes->columns; c++) {
            g->best_alpha[c] = CHOSEN(better, g->alpha[c], g->best_alpha[c]);
            g->best_beta[c] = CHOSEN(better, g->beta[c], g->best_beta[c]);
        }
        for (int l = 0; l < LANES; l++)
            if (node[l] >= 0 && (best[l] > effort->enough || step[l] == effort->steps)) {
                store(g, nodes, node[l], l, best[l]);
                node[l] = -1;
                open--;
            }
        if (!open) continue;
        for (int l = 0; l < LANES; l++) {
            float root = sqrtf(0.001f / (1 - powf(0.999f, (float)(step[l] + 1))));
            small[l] = 1e-8f / root;
            scale[l] = 0.1f / (1 - powf(0.9f, (float)(step[l] + 1))) / root;
            step[l]++;
        }
        climb(layers, g, effort, small, scale, sixteen);
    }
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx512f"))) static void
search_512(const struct layers *layers, const struct nodes *nodes, const struct effort *effort,
           const struct group *group)
{
    search(layers, nodes, effort, group, 1);
}

__attribute__((target("avx2,fma"))) static void
search_256(const struct layers *layers, const struct nodes *nodes, const struct effort *effort,
           const struct group *group)
{
    search(layers, nodes, effort, group, 0);
}
#endif

/* Each node's best multipliers and the bound they give; without steps, the bound of those given.
   Returns 0 where there is no memory. */
int search_multipliers(ptrdiff_t depth, const ptrdiff_t *values, const ptrdiff_t *undecided,
                       const ptrdiff_t *const *places, const float *const *back,
                       const float *const *forward, const float *const *bias,
                       const float *const *slope, ptrdiff_t count, ptrdiff_t columns,
                       ptrdiff_t line_step, const float *rows, const float *constant,
                       const float *above, const float *lift, const float *least,
                       const float *most, const float *sign, float *alpha, float *beta,
                       float *best, ptrdiff_t steps, float alpha_rate, float beta_rate,
                       float enough)
{
    struct layers layers = {depth, values, undecided, places, back, forward, bias, slope};
    struct nodes nodes = {count, columns, values[depth], line_step, rows, constant, above, lift,
                          least, most, sign, alpha, beta, best};
    struct effort effort = {steps, alpha_rate, beta_rate, enough};
    struct group group;
    lanes *memory = aligned_alloc(sizeof(lanes), sizeof(lanes) * (size_t)lay_out(&group, &layers, &nodes, NULL));
    if (!memory) return 0;
    memset(memory, 0, sizeof(lanes) * (size_t)lay_out(&group, &layers, &nodes, memory));
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512f")) search_512(&layers, &nodes, &effort, &group);
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        search_256(&layers, &nodes, &effort, &group);
    else
#endif
        search(&layers, &nodes, &effort, &group, 0);
    free(memory);
    return 1;
}

enum { TOGETHER = 8 }; /* partial sums */
typedef double doubles __attribute__((vector_size(8 * TOGETHER)));
typedef long long choice __attribute__((vector_size(8 * TOGETHER)));

/* The minimum within `radius`, of slopes of these sizes and rooms, and how fast it falls with it. */
INLINE double least_within(const doubles *size, const doubles *room, const doubles *unit,
                           ptrdiff_t blocks, double value, double radius, double *falling)
{
    doubles lost = {0}, rate = {0};
    for (ptrdiff_t b = 0; b < blocks; b++) {
        doubles near = unit[b] * radius;
        choice moving = room[b] > near;
        near = (doubles)((moving & (choice)near) | (~moving & (choice)room[b]));
        lost += size[b] * near;
        rate += (doubles)(moving & (choice)(size[b] * unit[b]));
    }
    double lost_in_all = *falling = 0;
    for (int i = 0; i < TOGETHER; i++) lost_in_all += lost[i], *falling += rate[i];
    return value - lost_in_all;
}

/* For each row of slopes the radius up to which slopes·x + constant is positive, by Newton's steps
   from the left; see `proved_radius`. A value may move by `down` and `up` at most, and by the radius
   times its unit. Returns 0 where there is no memory. */
WIDEST int prove_radii(ptrdiff_t count, ptrdiff_t inputs, const double *slopes,
                       const double *constant, const double *x, const double *down,
                       const double *up, const double *units, double whole, ptrdiff_t steps,
                       double caution, double tiny, double *radii)
{
    ptrdiff_t blocks = (inputs + TOGETHER - 1) / TOGETHER;
    doubles *size = aligned_alloc(sizeof(doubles), 3 * sizeof(doubles) * (size_t)blocks);
    if (!size) return 0;
    doubles *room = size + blocks, *unit = room + blocks;
    memset(size, 0, 3 * sizeof(doubles) * (size_t)blocks);
    memcpy(unit, units, sizeof(double) * (size_t)inputs);
    for (ptrdiff_t n = 0; n < count; n++, slopes += inputs) {
        double value = constant[n], proved = 0, least, falling, part[TOGETHER] = {0};
        double radius = radii[n] < whole ? radii[n] : whole;
        double *sizes = (double *)size, *rooms = (double *)room;
        for (ptrdiff_t i = 0; i < inputs; i++) {
            sizes[i] = fabs(slopes[i]);
            rooms[i] = slopes[i] > 0 ? down[i] : up[i];
        }
        for (ptrdiff_t i = 0; i + TOGETHER <= inputs; i += TOGETHER)
            for (int k = 0; k < TOGETHER; k++) part[k] += slopes[i + k] * x[i + k];
        for (ptrdiff_t i = inputs - inputs % TOGETHER; i < inputs; i++) value += slopes[i] * x[i];
        for (int k = 0; k < TOGETHER; k++) value += part[k];
        if (least_within(size, room, unit, blocks, value, whole, &falling) > 0) {
            radii[n] = whole;
            continue;
        }
        for (ptrdiff_t step = 0; step < steps; step++) {
            least = least_within(size, room, unit, blocks, value, radius, &falling);
            proved = least > 0 && radius > proved ? radius : proved;
            double next = radius + least * caution / (falling + tiny);
            radius = !(least > 0) ? 0 : next < whole ? next : whole;
        }
        least = least_within(size, room, unit, blocks, value, radius, &falling);
        radii[n] = least > 0 && radius > proved ? radius : proved;
    }
    free(size);
    return 1;
}
