"""What a measurement ran on: host, devices, driver and library versions."""

from __future__ import annotations

import importlib
import os
import platform
import socket
from types import ModuleType
from typing import Any

from clusterwright_tools import __version__, telemetry
from clusterwright_tools.errors import CannotRun


def torch() -> ModuleType:
    """The torch module.

    Raises:
        CannotRun: it is not installed, or does not import in this interpreter.
    """
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise CannotRun(
            f"PyTorch does not import here ({error}); install it in this environment, or name the Python of your "
            "training environment: clusterwright run --python PATH, or measure.python in config.toml"
        ) from error


def use_cpu() -> bool:
    """Whether the measurement has to run on the CPU: no device that torch can use, or `CLUSTERWRIGHT_DEVICE=cpu`."""
    return os.environ.get("CLUSTERWRIGHT_DEVICE") == "cpu" or not torch().cuda.is_available()


def device_uuid(index: int) -> str:
    """The UUID of torch's device `index` as the driver spells it (`GPU-…`), '' where torch does not tell."""
    uuid = getattr(torch().cuda.get_device_properties(index), "uuid", None)
    return f"GPU-{uuid}" if uuid is not None else ""


def device(index: int) -> dict[str, Any]:
    """One accelerator: index, name, uuid, memory in bytes, number of multiprocessors, compute capability."""
    found = torch().cuda.get_device_properties(index)
    return {
        "index": index,
        "name": found.name,
        "uuid": device_uuid(index),
        "memory_bytes": found.total_memory,
        "multiprocessors": found.multi_processor_count,
        "capability": f"{found.major}.{found.minor}",
    }


def hello(index: int | None = None) -> dict[str, Any]:
    """What one rank tells the others about itself. `index` is its device, None on the CPU."""
    library = torch()
    told: dict[str, Any] = {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "python": platform.python_version(),
        "torch": library.__version__,
        "cuda": library.version.cuda or "",
        "hip": library.version.hip or "",
        "nccl": _nccl(library),
        "driver": telemetry.driver_version(),
        "tools": __version__,
        "device": "cpu",
        "uuid": "",
    }
    if index is not None:
        told |= {"device": device(index)["name"], "uuid": device_uuid(index)}
    return told


def describe(hellos: list[dict[str, Any]] | None = None, index: int | None = None) -> dict[str, Any]:
    """The `environment` of a report: this process's own view, and one entry for each rank where there are several."""
    own = hello(index)
    told: dict[str, Any] = {
        "host": own["host"],
        "platform": platform.platform(),
        "cpu_count": os.cpu_count(),
        **{key: own[key] for key in ("python", "torch", "cuda", "hip", "nccl", "driver", "tools")},
        "devices": [device(index)] if index is not None else [],
    }
    if hellos:
        keep = ("host", "device", "uuid")
        told["ranks"] = [{"rank": rank, **{k: one[k] for k in keep}} for rank, one in enumerate(hellos)]
    return told


def _nccl(library: ModuleType) -> str:
    if use_cpu() or not library.distributed.is_available() or not library.distributed.is_nccl_available():
        return ""
    return ".".join(str(part) for part in library.cuda.nccl.version())
