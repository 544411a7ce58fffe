/* The rest of sum(), which reaches it by name: every level has its own. A label without a type is code too. */
        .text
        .globl  add_rest
add_rest:
        .cfi_startproc
        movdqa  %xmm0, %xmm1
        psrldq  $8, %xmm1
        paddd   %xmm1, %xmm0
        movdqa  %xmm0, %xmm1
        psrldq  $4, %xmm1
        paddd   %xmm1, %xmm0
        movd    %xmm0, %eax
.Lnext:
        test    %rsi, %rsi
        jz      .Ldone
        add     (%rdi), %eax
        add     $4, %rdi
        dec     %rsi
        jmp     .Lnext
.Ldone:
        ret
        .cfi_endproc

        .section .note.GNU-stack, "", @progbits
