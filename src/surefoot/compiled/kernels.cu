// The kernels of a GPU: named random numbers, and images resampled at coordinates.
//
// `kernels.ptx` is this file, compiled (`scripts/compile_kernels.py`): every driver since CUDA 11.8
// turns it into the code of its GPU in a moment, so that no run waits for a compiler. Every rounding
// is written out (`__fmaf_rn`, `sqrt.approx`, `div.full`): the numbers are part of what a study is.

// Philox4x32-10 (Salmon et al. 2011).
__device__ static uint4 philox(unsigned long long key, unsigned long long counter)
{
    unsigned k0 = (unsigned)key, k1 = (unsigned)(key >> 32);
    unsigned a = (unsigned)counter, b = (unsigned)(counter >> 32), c = 0, d = 0;
#pragma unroll
    for (int i = 0; i < 10; i++) {
        unsigned a_ = a, c_ = c;
        a = __umulhi(0xCD9E8D57u, c_) ^ b ^ k0;
        c = __umulhi(0xD2511F53u, a_) ^ d ^ k1;
        b = 0xCD9E8D57u * c_;
        d = 0xD2511F53u * a_;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return make_uint4(a, b, c, d);
}

__device__ static float unit(unsigned bits) { return (float)(bits >> 8) * 5.9604644775390625e-08f; }

// The sine and the cosine of an angle below 7, with the very bits of CUDA's `sinf` and `cosf`, which
// can also reduce large angles and are slower for it.
__device__ static void turned(float angle, float &sine, float &cosine)
{
    int quadrant = __float2int_rn(__fmul_rn(angle, 0.636619747f));
    float turns = (float)quadrant;
    float r = __fmaf_rn(turns, -1.57079625f, angle);
    r = __fmaf_rn(turns, -7.54978942e-08f, r);
    r = __fmaf_rn(turns, -5.39030295e-15f, r);
    float s = __fmul_rn(r, r);
    float odd = __fmaf_rn(__fmaf_rn(-1.95746587e-04f, s, 8.33270326e-03f), s, -1.66666627e-01f);
    odd = __fmaf_rn(odd, __fmaf_rn(s, r, 0.0f), r);
    float even = __fmaf_rn(__fmaf_rn(2.42795795e-05f, s, -1.38878601e-03f), s, 4.16667275e-02f);
    even = __fmaf_rn(__fmaf_rn(even, s, -4.99999970e-01f), s, 1.0f);
    sine = quadrant & 1 ? even : odd;
    cosine = quadrant & 1 ? odd : even;
    if (quadrant & 2)
        sine = __fmaf_rn(sine, -1.0f, 0.0f);
    if (quadrant + 1 & 2)
        cosine = __fmaf_rn(cosine, -1.0f, 0.0f);
}

// Box-Muller: two normal numbers of two uniform ones.
__device__ static void normals(float &u, float &v)
{
    float squared = -2.0f * logf(1.0f - u), far, sine, cosine;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(far) : "f"(squared));
    turned(__fmul_rn(6.2831853071795864f, v), sine, cosine);
    u = __fmul_rn(far, cosine);
    v = __fmul_rn(far, sine);
}

__device__ static void draw(
    float values[4], unsigned long long key, unsigned long long counter, int normal)
{
    uint4 drawn = philox(key, counter);
    values[0] = unit(drawn.x), values[1] = unit(drawn.y);
    values[2] = unit(drawn.z), values[3] = unit(drawn.w);
    if (normal) {
        normals(values[0], values[1]);
        normals(values[2], values[3]);
    }
}

struct Scale {
    float factor, shift, low, high;
    int mode;
};

__device__ static float noised(float value, float x, Scale scale)
{
    if (scale.mode > 0)
        value = __fadd_rn(x, __fmaf_rn(value, scale.factor, scale.shift));
    return scale.mode > 1 ? fminf(fmaxf(value, scale.low), scale.high) : value;
}

// Row i of out from key i: number j of a row from counter j mod quarter. Mode 0 writes the numbers,
// 1 adds them to row rows[i] of x, 2 clips the sum as well. A thread has one counter, or four in a
// row (`wide`) where rows are multiples of 64 bytes.
extern "C" __global__ void noise(
    float *__restrict__ out, const float *__restrict__ x, const long long *__restrict__ keys,
    const long long *__restrict__ rows, int width, int quarter, unsigned long long first,
    float factor, float shift, float low, float high, int normal, int mode, int wide)
{
    Scale scale = {factor, shift, low, high, mode};
    long long row = blockIdx.x;
    int at = (blockIdx.y * blockDim.x + threadIdx.x) * (wide ? 4 : 1);
    if (at >= quarter)
        return;
    unsigned long long key = (unsigned long long)keys[row];
    out += row * width;
    if (mode > 0)
        x += rows[row] * width;
    if (!wide) {
        float values[4];
        draw(values, key, first + at, normal);
#pragma unroll
        for (int part = 0; part < 4; part++, at += quarter)
            if (at < width)
                out[at] = noised(values[part], mode > 0 ? x[at] : 0.0f, scale);
        return;
    }
    float values[4][4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        draw(values[i], key, first + at + i, normal);
#pragma unroll
    for (int part = 0; part < 4; part++, at += quarter) {
        float4 clean = mode > 0 ? *(const float4 *)(x + at) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        *(float4 *)(out + at) = make_float4(
            noised(values[0][part], clean.x, scale), noised(values[1][part], clean.y, scale),
            noised(values[2][part], clean.z, scale), noised(values[3][part], clean.w, scale));
    }
}

// A coordinate brought back into an image of this size by reflections.
__device__ static float folded(float at, int size, float beyond)
{
    float high = size - 1 + beyond, period = 2.0f * (high + beyond), turns;
    at = fmaxf(at, -2.0f * beyond - at);
    asm("div.full.f32 %0, %1, %2;" : "=f"(turns) : "f"(at + beyond), "f"(period));
    at = __fmaf_rn(-floorf(turns), period, at);
    return fminf(at, 2.0f * high - at);
}

__device__ static float taken(
    const float *x, int y, int i, int height, int width, float fill, int black)
{
    if (black)
        return y >= 0 && y < height && i >= 0 && i < width ? x[y * width + i] : fill;
    return x[min(y, height - 1) * width + min(i, width - 1)];
}

// Pixel (j, i) of image n of out: what is at (ys[n, j, i], xs[n, j, i]) of image n of x, bilinear.
extern "C" __global__ void sample(
    float *__restrict__ out, const float *__restrict__ x, const float *__restrict__ ys,
    const float *__restrict__ xs, long long x_row, long long ys_row, long long xs_row, int ys_down,
    int ys_right, int xs_down, int xs_right, int channels, int height, int width, int rows,
    int columns, float fill, float beyond, float low, float high, int mirrored, int black, int clip)
{
    long long row = blockIdx.x;
    unsigned pixel = blockIdx.y * blockDim.x + threadIdx.x;
    if (pixel >= rows * columns)
        return;
    int j = pixel / (unsigned)columns, i = pixel - j * columns, edge = black ? 1 : 0;
    float down = ys[row * ys_row + j * ys_down + i * ys_right];
    float right = xs[row * xs_row + j * xs_down + i * xs_right];
    if (mirrored && height > 1)
        down = folded(down, height, beyond);
    if (mirrored && width > 1)
        right = folded(right, width, beyond);
    down = fminf(fmaxf(down, (float)-edge), (float)(height - 1 + edge));
    right = fminf(fmaxf(right, (float)-edge), (float)(width - 1 + edge));
    float top = floorf(down), left = floorf(right);
    int y = (int)top, z = (int)left;
    down -= top;
    right -= left;
    x += row * x_row;
    out += row * channels * rows * columns + pixel;
#pragma unroll 3
    for (int channel = 0; channel < channels; channel++) {
        float a = taken(x, y, z, height, width, fill, black);
        float b = taken(x, y, z + 1, height, width, fill, black);
        float c = taken(x, y + 1, z, height, width, fill, black);
        float d = taken(x, y + 1, z + 1, height, width, fill, black);
        float upper = __fmaf_rn(b - a, right, a), lower = __fmaf_rn(d - c, right, c);
        float value = __fmaf_rn(lower - upper, down, upper);
        if (clip)
            value = fminf(fmaxf(value, low), high);
        *out = value;
        x += height * width;
        out += rows * columns;
    }
}
