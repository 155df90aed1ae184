"""The environment of a measurement: what steers devices, libraries and networks, and nothing else of the user's."""

import os
import re
from collections.abc import Iterable, Mapping

DEVICE = "CLUSTERWRIGHT_DEVICE"
"""`cpu`: measure on the CPU, whatever devices there are."""

# The variables of a launcher around us (RANK, SLURM_PROCID, TORCHELASTIC_…) are left out: the job has its own.
_WANTED = re.compile(
    r"HOME|PATH|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|USER|LOGNAME|SHELL|HOSTNAME|(DY)?LD_LIBRARY_PATH"
    r"|CLUSTERWRIGHT_(DEVICE|EVEN_IF_BUSY)|SLURM_(CONF|CLUSTER_NAME|JOB_\w+)|KUBERNETES_SERVICE_HOST"
    r"|(CUDA|CUBLAS|CUBLASLT|CUDNN|NVIDIA|NCCL|NVSHMEM|GLOO|UCX|UCC|FI|OFI|IBV|MLX5|RDMAV)_\w+"
    r"|(ROCR|ROCM|HIP|HIPBLASLT|HSA|RCCL|MIOPEN|AMD|GPU)_\w+"
    r"|(TORCH|PYTORCH|TORCHINDUCTOR|TRITON|OMP|MKL|KMP|GOMP|OPENBLAS)_\w+"
)


def clean(around: Mapping[str, str], extra: Iterable[str] = ()) -> dict[str, str]:
    """The variables that a measurement inherits; `extra` names further ones (`measure.environment`)."""
    wanted = frozenset(extra)
    kept = {name: value for name, value in around.items() if name in wanted or _WANTED.fullmatch(name)}
    # Output at once, and no byte-code written into the user's environment.
    return {**kept, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def for_ranks(ranks: int) -> dict[str, str]:
    """Defaults for several ranks on one machine: torchrun would give each a single thread."""
    if ranks == 1:
        return {}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {"OMP_NUM_THREADS": str(max(1, cores // ranks))}


def on_cpu() -> dict[str, str]:
    """What makes ranks run on the CPU with gloo, over loopback alone."""
    loopback = "lo0" if os.uname().sysname == "Darwin" else "lo"
    return {DEVICE: "cpu", "GLOO_SOCKET_IFNAME": loopback}
