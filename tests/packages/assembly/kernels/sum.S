/* uint32_t sum(const uint32_t *values, size_t count): whole vectors, and then the rest one by one. */
        .text
        .globl  sum
        .type   sum, @function
sum:
        .cfi_startproc
#if defined(CPU_CAPABILITY_AVX512)
        vpxord  %zmm0, %zmm0, %zmm0
.Lvector:
        cmp     $16, %rsi
        jb      .Ljoin
        vpaddd  (%rdi), %zmm0, %zmm0
        add     $64, %rdi
        sub     $16, %rsi
        jmp     .Lvector
.Ljoin:
        vextracti64x4 $1, %zmm0, %ymm1
        vpaddd  %ymm1, %ymm0, %ymm0
        vextracti128 $1, %ymm0, %xmm1
        vpaddd  %xmm1, %xmm0, %xmm0
        vzeroupper
#elif defined(CPU_CAPABILITY_AVX2)
        vpxor   %ymm0, %ymm0, %ymm0
.Lvector:
        cmp     $8, %rsi
        jb      .Ljoin
        vpaddd  (%rdi), %ymm0, %ymm0
        add     $32, %rdi
        sub     $8, %rsi
        jmp     .Lvector
.Ljoin:
        vextracti128 $1, %ymm0, %xmm1
        vpaddd  %xmm1, %xmm0, %xmm0
        vzeroupper
#else
        pxor    %xmm0, %xmm0
.Lvector:
        cmp     $4, %rsi
        jb      .Ljoin
        movdqu  (%rdi), %xmm1
        paddd   %xmm1, %xmm0
        add     $16, %rdi
        sub     $4, %rsi
        jmp     .Lvector
.Ljoin:
#endif
        jmp     add_rest
        .cfi_endproc
        .size   sum, . - sum

        .section .note.GNU-stack, "", @progbits
