/* exp and log without branches, so that the compiler computes several at a time; within 1e-15, relative, of the C library.
 *
 * exp(x) = 2^k exp(r) with |r| <= log(2)/2, by the Taylor polynomial of degree 13, whose remainder is below 1e-17. The
 * result is subnormal below -708.4 and 0 below -745.2; x is at most 708. log(x) = k log(2) + log(m) with m between
 * sqrt(1/2) and sqrt(2), by the series in s = (m-1)/(m+1) with the coefficients of Sun's fdlibm; x is a positive normal
 * number.
 */

/* Volatile, and read before a loop: otherwise the compiler branches to the constant result instead of vectorising. */
static volatile double least_exponent = -746.0;

static inline double exp_of(double x, double least)
{
    const double shifter = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to a whole number, in the low bits */
    const double low = x < least ? least : x; /* exp(least) is 0 */
    /* 2^k may be too small for a normal number: 2^(k + 64) is not. It is an integer, because a choice between two results
     * would be a branch, which prevents vectorisation. */
    const uint64_t raised = low < -600.0 ? 64 : 0;
    const double shifted = low * 1.4426950408889634 + shifter, k = shifted - shifter;
    const double r = (low - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * (r * r) + r;
    p = p + 1.0;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    const uint64_t power = (bits + 1023 + raised) << 52, lowered = (1023 - raised) << 52;
    double scale, rest;
    memcpy(&scale, &power, sizeof scale);
    memcpy(&rest, &lowered, sizeof rest);
    return p * scale * rest;
}

static inline double log_of(double x)
{
    const uint64_t root = UINT64_C(0x3fe6a09e667f3bcd); /* sqrt(1/2) */
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t t = bits + (UINT64_C(0x3ff0000000000000) - root);
    const uint64_t mantissa = (t & UINT64_C(0x000fffffffffffff)) + root;
    const uint64_t exponent = (t >> 52) | UINT64_C(0x4330000000000000); /* the bits of 2^52 + k + 1023 */
    double m, k;
    memcpy(&m, &mantissa, sizeof m);
    memcpy(&k, &exponent, sizeof k);
    k -= 4503599627370496.0 + 1023.0;
    const double f = m - 1.0, half = 0.5 * f * f, s = f / (2.0 + f), z = s * s, w = z * z;
    const double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    const double odd = z * (6.666666666666735130e-01 +
                            w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    const double rest = even + odd;
    return k * 6.93147180369123816490e-01 - ((half - (s * (half + rest) + k * 1.90821492927058770002e-10)) - f);
}
