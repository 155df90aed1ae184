"""How many accelerators a process started here would see, found without importing torch."""

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import pynvml

from clusterwright.jobs.environment import DEVICE

_KFD = Path("/sys/class/kfd/kfd/topology/nodes")


def count(environment: Mapping[str, str]) -> int:
    """NVIDIA devices, else AMD ones, as far as the environment leaves them visible."""
    if environment.get(DEVICE) == "cpu":
        return 0
    if found := _nvidia():
        return _visible(found, environment, ("CUDA_VISIBLE_DEVICES",))
    # ROCr hides devices first, HIP (which reads CUDA's variable too) then hides some of the rest.
    return _visible(_amd(), environment, ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"))


def _visible(found: int, environment: Mapping[str, str], names: Iterable[str]) -> int:
    for name in names:
        if name in environment:
            found = min(found, _listed(environment[name], found))
    return found


def _listed(text: str, found: int) -> int:
    """Entries up to the first that names no device, as CUDA reads the list. UUIDs (GPU-…, MIG-…) are taken on trust."""
    number = 0
    for entry in (part.strip() for part in text.split(",")):
        if not entry.startswith(("GPU-", "MIG-")) and not (entry.isdigit() and int(entry) < found):
            break
        number += 1
    return number


def _nvidia() -> int:
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return 0
    try:
        return int(pynvml.nvmlDeviceGetCount())
    finally:
        pynvml.nvmlShutdown()


def _amd() -> int:
    found = 0
    with contextlib.suppress(OSError):
        for node in _KFD.iterdir():
            # CPUs are nodes too; their gpu_id is 0.
            found += (node / "gpu_id").read_text().strip() != "0"
    return found
