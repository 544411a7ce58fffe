"""Sources of binaries without isagen's record, and the audit's findings in them."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from isagen.audit.findings import Result
from isagen.audit.records import Baseline
from isagen.audit.targets import audit_each, require_audited
from isagen.processors.table import load_table

LINKERS = {"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld", "mold": "mold"}
# A loop that GCC and Clang vectorise, and that constant folding does not remove.
DOUBLE = "for (int i = 0; i < 64; i++) data[i] *= 2;"
AVX2 = '__attribute__((target("avx2"), noinline))'
HEAD = "float data[64];\n"


CONSTRUCTOR = HEAD + f"{AVX2} __attribute__((constructor)) static void planted() {{ {DOUBLE} }}"
CALLS = (
    HEAD
    + f"""
{AVX2} static void planted() {{ {DOUBLE} }}
__attribute__((noinline)) static void middle() {{ data[1] = 3; planted(); data[0] = 1; }}
__attribute__((constructor)) static void first() {{ data[2] = 3; middle(); data[1] = 2; }}
"""
)
EXPORTED = CALLS.replace("static ", "")
# Assembly without types, sizes and unwind tables.
ASSEMBLY = """
        .text
        .globl  exported
        .type   exported, @function
exported:
        movl    $1, %eax
        ret
        .size   exported, .-exported
        .p2align 4
untouched:
        vpaddd  %ymm0, %ymm1, %ymm2
        ret
        .p2align 4
looped:
        movl    $4, %ecx
2:      decl    %ecx
        jnz     2b
        cmpl    $7, %eax
        je      4f
        ret
        .fill   300, 1, 0xc4
4:      vzeroupper
        ret
        .p2align 4
innocent:
        ret
        .globl  sizeless
sizeless:
        movl    $2, %eax
        ret
hidden_in_sizeless:
        vpaddd  %zmm0, %zmm1, %zmm2
        ret
        .p2align 4
first:
        call    innocent
        jmp     {0}
        .section .init_array, "aw"
        .quad   first
        .section .note.GNU-stack, "", @progbits
"""


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def audit(path, baseline="X86_64"):
    features = load_table("x86-64", path.parent, "").required_features(baseline)
    (result,) = audit_targets([path], Baseline(baseline, features))
    return result


def findings(path, kind=None):
    """The findings of a file by symbol."""
    return {f.symbol: f for f in audit(path).findings if kind in (None, f.kind)}


def counted(path):
    return number_of(audit(path).counted)


def number_of(counted):
    """How many functions are counted, by feature."""
    return {feature: len(names) for feature, names in counted.items()}


def audit_targets(targets: Sequence[Path], baseline: Baseline) -> list[Result]:
    """Audit all `targets`. What cannot be audited is among the results, with its problem, beside others that can.

    Raises `AuditError` where nothing can.
    """
    results = list(audit_each(targets, {"x86": baseline}))
    require_audited(targets, results)
    return results
