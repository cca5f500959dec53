/* Multipliers of bounds through dense layers over a box, in float32, and what they prove, in
   float64.

   The search does what `optimise_multipliers` (verify/layer_bounds.py) does in NumPy, and chooses
   the neuron that is split next as `choose_neuron` does: both only propose, so neither the order of
   its sums nor contracted products matter. The proof does what `proved_linear_bounds` and
   `proved_radius` (verify/linear_relaxation.py) do, in sums of the same terms.

   In a search sixteen nodes lie side by side: every number of a node is a lane of a row of sixteen,
   and a node that has ended makes room for the next. */

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "fp-contract=fast", "no-math-errno", "no-trapping-math")
#elif defined(__clang__)
#pragma clang fp contract(fast)
#endif

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 16, PANEL = 8, UNKNOWN = -2 }; /* the last as verify/compiled_search.py has it */

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
#define PRODUCT(name, number, row, vector)                                                         \
    INLINE void name(const row *numbers, ptrdiff_t count, const number *panel, ptrdiff_t columns,  \
                     row *out)                                                                     \
    {                                                                                              \
        enum { EACH = sizeof(row) / sizeof(vector) };                                              \
        for (ptrdiff_t o = 0; o < columns; o += PANEL, panel += PANEL * count)                     \
            for (int part = 0; part < EACH; part++) {                                              \
                vector s0 = {0}, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;    \
                const vector *x = (const vector *)numbers + part;                                  \
                const number *w = panel;                                                           \
                for (ptrdiff_t k = 0; k < count; k++, w += PANEL, x += EACH) {                     \
                    s0 += *x * w[0], s1 += *x * w[1], s2 += *x * w[2], s3 += *x * w[3];            \
                    s4 += *x * w[4], s5 += *x * w[5], s6 += *x * w[6], s7 += *x * w[7];            \
                }                                                                                  \
                vector sums[PANEL] = {s0, s1, s2, s3, s4, s5, s6, s7};                             \
                for (int i = 0; i < PANEL; i++) ((vector *)(out + o + i))[part] = sums[i];         \
            }                                                                                      \
    }
PRODUCT(product_of_sixteen, float, lanes, lanes)
PRODUCT(product_of_eight, float, lanes, half)

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
    ptrdiff_t *column;
};

/* How long a search is, its step sizes, the bound from which on a node is left alone, and how much
   the loss below a neuron counts. */
struct effort {
    ptrdiff_t steps;
    float alpha_rate, beta_rate, enough, lower_line_weight;
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

/* Returns the first neuron that may be on either side; none: −1. */
static float load(const struct group *g, const struct nodes *nodes, ptrdiff_t i, int lane)
{
    ptrdiff_t own = i * nodes->columns, line = i * nodes->line_step, either = -1;
    for (ptrdiff_t c = 0; c < nodes->columns; c++) {
        float least = nodes->least[line + c], most = nodes->most[line + c];
        g->alpha[c][lane] = g->best_alpha[c][lane] = nodes->alpha[own + c];
        g->beta[c][lane] = g->best_beta[c][lane] = nodes->beta[own + c];
        g->sign[c][lane] = nodes->sign[own + c];
        g->above[c][lane] = nodes->above[line + c];
        g->lift[c][lane] = least < most ? nodes->lift[line + c] : 0; /* else only rounding */
        g->least[c][lane] = least;
        g->most[c][lane] = most;
        g->alpha_first[c][lane] = g->alpha_second[c][lane] = 0;
        g->beta_first[c][lane] = g->beta_second[c][lane] = 0;
        if (either < 0 && least < most) either = c;
    }
    for (ptrdiff_t r = 0; r < nodes->width; r++) g->rows[r][lane] = nodes->rows[i * nodes->width + r];
    return (float)either;
}

static void store(const struct group *g, const struct nodes *nodes, ptrdiff_t i, int lane,
                  float best, ptrdiff_t column)
{
    for (ptrdiff_t c = 0; c < nodes->columns; c++) {
        nodes->alpha[i * nodes->columns + c] = g->best_alpha[c][lane];
        nodes->beta[i * nodes->columns + c] = g->best_beta[c][lane];
    }
    nodes->best[i] = best;
    nodes->column[i] = column;
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

/* The neuron whose lines lose the most in the last bound, as `choose_neuron` weighs them; where none
   loses anything, the one given. Numbers of neurons are below 2²⁴, so floats hold them. */
INLINE lanes costliest(const struct layers *layers, const struct group *g, lanes column,
                       float lower_line_weight)
{
    const lanes none = {0};
    lanes most = none, number = none;
    ptrdiff_t start = 0, c = 0;
    for (ptrdiff_t j = 0; j < layers->depth; start += layers->values[++j])
        for (ptrdiff_t u = 0; u < layers->undecided[j]; u++, c++, number += 1) {
            lanes k = g->coefficients[start + layers->places[j][u]];
            lanes below = k * lower_line_weight;
            lanes loss = CHOSEN(k < none, -k, below) * g->lift[c];
            mask more = loss > most;
            column = CHOSEN(more, number, column);
            most = CHOSEN(more, loss, most);
        }
    return column;
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
    lanes column = {0}, first = {0};
    for (int l = 0; l < LANES; l++) node[l] = -1;
    for (;;) {
        int open = 0;
        for (int l = 0; l < LANES; l++) {
            if (node[l] < 0 && next < nodes->count) {
                first[l] = load(g, nodes, next, l);
                node[l] = next, step[l] = 0, best[l] = -INFINITY, column[l] = UNKNOWN;
                constant[l] = nodes->constant[next++];
            }
            open += node[l] >= 0;
        }
        if (!open) return;
        lanes value = bound_group(layers, g, constant, sixteen);
        mask better = value > best;
        best = CHOSEN(better, value, best);
        column = CHOSEN(better, costliest(layers, g, first, effort->lower_line_weight), column);
        for (ptrdiff_t c = 0; c < nodes->columns; c++) {
            g->best_alpha[c] = CHOSEN(better, g->alpha[c], g->best_alpha[c]);
            g->best_beta[c] = CHOSEN(better, g->beta[c], g->best_beta[c]);
        }
        for (int l = 0; l < LANES; l++)
            if (node[l] >= 0 && (best[l] > effort->enough || step[l] == effort->steps)) {
                store(g, nodes, node[l], l, best[l], (ptrdiff_t)column[l]);
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
                       float *best, ptrdiff_t *column, ptrdiff_t steps, float alpha_rate,
                       float beta_rate, float enough, float lower_line_weight)
{
    struct layers layers = {depth, values, undecided, places, back, forward, bias, slope};
    struct nodes nodes = {count, columns, values[depth], line_step, rows, constant, above, lift,
                          least, most, sign, alpha, beta, best, column};
    struct effort effort = {steps, alpha_rate, beta_rate, enough, lower_line_weight};
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

/* What follows is in float64, eight nodes side by side, and proves: every sum of a layer is made of
   the terms, and of no more of them than, `proved_linear_bounds` subtracts the rounding of. */
enum { TOGETHER = 8 };
typedef double doubles __attribute__((vector_size(8 * TOGETHER)));
typedef double quarter __attribute__((vector_size(4 * TOGETHER), may_alias));
typedef long long choice __attribute__((vector_size(8 * TOGETHER)));
PRODUCT(exact_product_of_eight, double, doubles, doubles)
PRODUCT(exact_product_of_four, double, doubles, quarter)

#define PICKED(where, yes, no) \
    ((doubles)(((where) & (choice)(yes)) | (~(where) & (choice)(no))))

INLINE doubles size_of(doubles a)
{
    const doubles none = {0};
    return (doubles)((choice)a & ~(choice)(-none));
}

/* A box: how far each input may move down and up at most, and how far by a radius of 1; the radius
   of all of it, and how Newton's steps towards the radius that is proved are taken. */
struct box {
    ptrdiff_t inputs;
    const double *x, *down, *up, *unit;
    double whole;
    ptrdiff_t steps;
    double caution, tiny;
};

/* The minima of slopes·x + constant within radii, of values at x, and how fast they fall. */
INLINE doubles least_within(const struct box *box, const doubles *slopes, doubles value,
                            doubles radius, doubles *falling)
{
    const doubles none = {0};
    doubles lost = none, rate = none;
    for (ptrdiff_t i = 0; i < box->inputs; i++) {
        doubles size = size_of(slopes[i]), near = radius * box->unit[i];
        doubles room = PICKED(slopes[i] > none, none + box->down[i], none + box->up[i]);
        choice moving = room > near;
        lost += size * PICKED(moving, near, room);
        rate += (doubles)(moving & (choice)(size * box->unit[i]));
    }
    *falling = rate;
    return value - lost;
}

/* Radii up to which slopes·x + constant is positive, by Newton's steps from the left, begun at
   `radius`; see `proved_radius`. `floor`: the minima over the whole box. */
INLINE doubles radii_of(const struct box *box, const doubles *slopes, doubles value,
                        doubles radius, doubles *floor)
{
    const doubles none = {0}, whole = none + box->whole;
    doubles falling, proved = none, at = none;
    for (ptrdiff_t i = 0; i < box->inputs; i++) at += slopes[i] * box->x[i];
    value += at;
    *floor = least_within(box, slopes, value, whole, &falling);
    radius = PICKED(radius < whole, radius, whole);
    for (ptrdiff_t step = 0; step <= box->steps; step++) {
        doubles least = least_within(box, slopes, value, radius, &falling);
        proved = PICKED((least > none) & (radius > proved), radius, proved);
        doubles next = radius + least * box->caution / (falling + box->tiny);
        radius = PICKED(least > none, PICKED(next < whole, next, whole), none);
    }
    return PICKED(*floor > none, whole, proved);
}

/* Layers as the search has them, but of the inputs themselves; of each neuron also the `sizes` its
   sums are rounded in, and the `errors` of the model's own; and what any bound may lose to rounding,
   as a share of its terms and to numbers too small for float64. */
struct exact_layers {
    ptrdiff_t depth;
    const ptrdiff_t *values, *undecided, *const *places;
    const double *const *back, *const *bias, *const *slope, *const *sizes, *const *errors;
    double unit, underflow;
};

/* Nodes: of each its row of the margins, the ends of its neurons, multipliers and sides. `slope` is
   that of each neuron where it is off. */
struct exact_nodes {
    ptrdiff_t count, columns;
    const ptrdiff_t *row;
    const double *rows, *offsets, *slope;
    const float *lower, *upper, *alpha, *beta;
    const signed char *sign;
};

struct exact_group {
    doubles *lower, *upper, *alpha, *beta, *now, *sums;
};

static void load_exact(const struct exact_group *g, const struct exact_nodes *nodes,
                       ptrdiff_t width, ptrdiff_t i, int lane)
{
    const double *row = nodes->rows + nodes->row[i] * width;
    for (ptrdiff_t c = 0, at = i * nodes->columns; c < nodes->columns; c++, at++) {
        g->lower[c][lane] = nodes->lower[at];
        g->upper[c][lane] = nodes->upper[at];
        g->alpha[c][lane] = nodes->alpha[at];
        g->beta[c][lane] = (double)nodes->beta[at] * nodes->sign[at];
    }
    for (ptrdiff_t r = 0; r < width; r++) g->now[r][lane] = row[r];
}

/* Constants of the bounds from below, all that is lost to rounding subtracted; their slopes in the
   inputs are left in `now`. `rounding` is what this side may have lost. */
INLINE doubles bound_exactly(const struct exact_layers *layers, const struct exact_nodes *nodes,
                             const struct exact_group *g, doubles constant, doubles *rounding,
                             int eight)
{
    const doubles none = {0}, one = none + 1;
    doubles total = size_of(constant), run_errors = none;
    ptrdiff_t column = nodes->columns;
    for (ptrdiff_t j = layers->depth - 1; j >= 0; j--) {
        ptrdiff_t count = layers->values[j + 1];
        const double *sizes = layers->sizes[j];
        doubles *k = g->now, *z = g->sums, size = none, lifted = none, shifted = none, error = none;
        for (ptrdiff_t i = 0; i < count; i++) {
            size += size_of(k[i]) * sizes[i];
            z[i] = k[i] * layers->slope[j][i];
        }
        column -= layers->undecided[j];
        for (ptrdiff_t u = 0; u < layers->undecided[j]; u++) {
            ptrdiff_t i = layers->places[j][u], c = column + u;
            doubles slope = none + nodes->slope[c], lower = g->lower[c], upper = g->upper[c];
            choice falling = k[i] < none, on = lower >= none, beyond = upper > none;
            doubles low = PICKED(on, none, lower), high = PICKED(beyond, upper, none);
            doubles width = high - low;
            doubles above = one + low / PICKED(width > none, width, one) * (one - slope);
            doubles alpha = g->alpha[c];
            doubles least = PICKED(on & beyond, one, slope), most = PICKED(beyond, one, slope);
            alpha = PICKED(alpha > least, alpha, least);
            alpha = PICKED(alpha < most, alpha, most);
            lifted += k[i] * PICKED(falling, low * (slope - above), none);
            z[i] = k[i] * PICKED(falling, above, alpha) - g->beta[c];
            size += size_of(g->beta[c]) * sizes[i];
        }
        for (ptrdiff_t i = 0; i < count; i++) {
            shifted += z[i] * layers->bias[j][i];
            error += size_of(z[i]) * layers->errors[j][i];
        }
        constant += lifted;
        constant += shifted;
        total += size;
        run_errors += error;
        if (eight) exact_product_of_eight(z, count, layers->back[j], layers->values[j], k);
        else exact_product_of_four(z, count, layers->back[j], layers->values[j], k);
    }
    *rounding = total * layers->unit;
    return constant - (*rounding + run_errors) - layers->underflow;
}

INLINE void prove(const struct exact_layers *layers, const struct exact_nodes *nodes,
                  const struct box *box, const struct exact_group *g, double *radii, double *floors,
                  double *rounding, int eight)
{
    for (ptrdiff_t first = 0; first < nodes->count; first += TOGETHER) {
        doubles radius = {0}, constant = {0}, lost, floor;
        ptrdiff_t left = nodes->count - first;
        int some = left < TOGETHER ? (int)left : TOGETHER;
        for (int l = 0; l < some; l++) {
            load_exact(g, nodes, layers->values[layers->depth], first + l, l);
            constant[l] = nodes->offsets[nodes->row[first + l]];
            radius[l] = radii[first + l];
        }
        constant = bound_exactly(layers, nodes, g, constant, &lost, eight);
        radius = radii_of(box, g->now, constant, radius, &floor);
        for (int l = 0; l < some; l++) {
            radii[first + l] = radius[l];
            floors[first + l] = floor[l];
            rounding[first + l] = lost[l];
        }
    }
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx512f"))) static void
prove_512(const struct exact_layers *layers, const struct exact_nodes *nodes, const struct box *box,
          const struct exact_group *g, double *radii, double *floors, double *rounding)
{
    prove(layers, nodes, box, g, radii, floors, rounding, 1);
}

__attribute__((target("avx2,fma"))) static void
prove_256(const struct exact_layers *layers, const struct exact_nodes *nodes, const struct box *box,
          const struct exact_group *g, double *radii, double *floors, double *rounding)
{
    prove(layers, nodes, box, g, radii, floors, rounding, 0);
}
#endif

/* What the nodes' multipliers prove: radii, from those known; the minima over the whole box, and
   what rounding here may have taken from them. Returns 0 where there is no memory. */
int prove_nodes(ptrdiff_t depth, const ptrdiff_t *values, const ptrdiff_t *undecided,
                const ptrdiff_t *const *places, const double *const *back,
                const double *const *bias, const double *const *slopes, const double *const *sizes,
                const double *const *errors, double unit, double underflow, const double *x,
                const double *down, const double *up, const double *units, double whole,
                ptrdiff_t steps, double caution, double tiny, ptrdiff_t count, ptrdiff_t columns,
                const ptrdiff_t *row, const double *rows, const double *offsets,
                const double *slope, const float *lower, const float *upper, const float *alpha,
                const float *beta, const signed char *sign, double *radii, double *floors,
                double *rounding)
{
    struct exact_layers layers = {depth, values, undecided, places, back, bias, slopes,
                                  sizes, errors, unit, underflow};
    struct box box = {values[0], x, down, up, units, whole, steps, caution, tiny};
    struct exact_nodes nodes = {count, columns, row, rows, offsets, slope,
                                lower, upper, alpha, beta, sign};
    ptrdiff_t widest = 0;
    for (ptrdiff_t j = 0; j <= depth; j++) widest = values[j] > widest ? values[j] : widest;
    widest += PANEL;
    size_t size = sizeof(doubles) * (size_t)(4 * columns + 2 * widest);
    doubles *memory = aligned_alloc(sizeof(doubles), size);
    if (!memory) return 0;
    memset(memory, 0, size);
    doubles *ends = memory + 4 * columns;
    struct exact_group group = {memory, memory + columns, memory + 2 * columns,
                                memory + 3 * columns, ends, ends + widest};
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512f"))
        prove_512(&layers, &nodes, &box, &group, radii, floors, rounding);
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        prove_256(&layers, &nodes, &box, &group, radii, floors, rounding);
    else
#endif
        prove(&layers, &nodes, &box, &group, radii, floors, rounding, 0);
    free(memory);
    return 1;
}

/* For each row of slopes the radius up to which slopes·x + constant is positive. */
WIDEST int prove_radii(ptrdiff_t count, ptrdiff_t inputs, const double *slopes,
                       const double *constant, const double *x, const double *down,
                       const double *up, const double *units, double whole, ptrdiff_t steps,
                       double caution, double tiny, double *radii)
{
    struct box box = {inputs, x, down, up, units, whole, steps, caution, tiny};
    doubles *rows = aligned_alloc(sizeof(doubles), sizeof(doubles) * (size_t)inputs);
    if (!rows) return 0;
    memset(rows, 0, sizeof(doubles) * (size_t)inputs);
    for (ptrdiff_t first = 0; first < count; first += TOGETHER) {
        doubles value = {0}, radius = {0}, floor;
        ptrdiff_t left = count - first;
        int some = left < TOGETHER ? (int)left : TOGETHER;
        for (int l = 0; l < some; l++) {
            value[l] = constant[first + l], radius[l] = radii[first + l];
            for (ptrdiff_t i = 0; i < inputs; i++) rows[i][l] = slopes[(first + l) * inputs + i];
        }
        radius = radii_of(&box, rows, value, radius, &floor);
        for (int l = 0; l < some; l++) radii[first + l] = radius[l];
    }
    free(rows);
    return 1;
}
