/* kernel_flags.h - the processor's floating-point flags, read and cleared without a call. */
#ifndef BCJIT_KERNEL_FLAGS_H
#define BCJIT_KERNEL_FLAGS_H

#include "kernel.h"

/* Two kinds: of vector instructions alone, and of all code, which C libraries may have written for the older unit (x87): looking
 * at that one waits for all that is under way. Inexact results (0x20) and denormal operands (0x02) are not told. */
#if defined(__x86_64__) || defined(_M_X64)
#  include <xmmintrin.h>
#  define FLAGS_TOLD 0x1du
static inline unsigned int flags_of_state(unsigned int state)
{
    return ((state & 0x04) ? KERNEL_DIVIDE : 0) | ((state & 0x08) ? KERNEL_OVER : 0) |
           ((state & 0x10) ? KERNEL_UNDER : 0) | ((state & 0x01) ? KERNEL_INVALID : 0);
}
static inline void vector_flags_clear(void)
{
    unsigned int state = _mm_getcsr();
    if (state & FLAGS_TOLD) {
        _mm_setcsr(state & ~0x3fu);
    }
}
static inline unsigned int vector_flags_raised(void)
{
    unsigned int state = _mm_getcsr() & FLAGS_TOLD;
    return state == 0 ? 0 : flags_of_state(state);
}
static inline void flags_clear(void)
{
    vector_flags_clear();
#  if defined(__GNUC__)
    unsigned short x87;
    __asm__ __volatile__("fnstsw %0" : "=a"(x87));
    if (x87 & FLAGS_TOLD) {
        __asm__ __volatile__("fnclex");
    }
#  endif
}
static inline unsigned int flags_raised(void)
{
    unsigned int state = _mm_getcsr();
#  if defined(__GNUC__)
    unsigned short x87;
    __asm__ __volatile__("fnstsw %0" : "=a"(x87));
    state |= x87;
#  endif
    return flags_of_state(state);
}
#else
#  include <fenv.h>
static inline void flags_clear(void)
{
    feclearexcept(FE_ALL_EXCEPT);
}
static inline unsigned int flags_raised(void)
{
    int state = fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID);
    return ((state & FE_DIVBYZERO) ? KERNEL_DIVIDE : 0) | ((state & FE_OVERFLOW) ? KERNEL_OVER : 0) |
           ((state & FE_UNDERFLOW) ? KERNEL_UNDER : 0) | ((state & FE_INVALID) ? KERNEL_INVALID : 0);
}
static inline void vector_flags_clear(void) { flags_clear(); }
static inline unsigned int vector_flags_raised(void) { return flags_raised(); }
#endif

#endif
