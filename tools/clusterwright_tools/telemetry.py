"""Clocks, power, temperature and throttle reasons of a device, sampled while something is measured.

NVIDIA devices only, through nvidia-ml-py or, where that is missing, by reading `nvidia-smi`. Elsewhere the samples
are empty, and the report says so.
"""

from __future__ import annotations

import contextlib
import importlib
import shutil
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import Any

from clusterwright_tools.report import Clocks

# Bits of nvmlDeviceGetCurrentClocksEventReasons, named as nvidia-smi names them (nvml.h).
_REASONS = {
    0x1: "idle",
    0x2: "applications clocks setting",
    0x4: "SW power cap",
    0x8: "HW slowdown",
    0x10: "sync boost",
    0x20: "SW thermal slowdown",
    0x40: "HW thermal slowdown",
    0x80: "HW power brake",
    0x100: "display clock setting",
}
THERMAL = frozenset({"SW thermal slowdown", "HW thermal slowdown"})
HARDWARE = frozenset({"HW slowdown", "HW power brake"})
POWER = frozenset({"SW power cap"})

_QUERY = "clocks.sm,power.draw,temperature.gpu,clocks_event_reasons.active,clocks.max.sm,power.limit"
_INTERVAL = {"nvml": 0.02, "nvidia-smi": 0.2}


@dataclass(frozen=True)
class Reading:
    """One sample; None where the device does not tell."""

    sm_mhz: float | None
    power_w: float | None
    temperature_c: float | None
    reasons: int
    sm_mhz_limit: float | None
    power_w_limit: float | None


class Device:
    """Reads one device. `read` is None where nothing can be read, and `why` says why."""

    def __init__(self, uuid: str) -> None:
        self.read: Callable[[], Reading] | None = None
        self.why, self.interval = "", 1.0
        if not uuid:
            self.why = "no NVIDIA device"
        elif (library := _nvml()) is not None:
            self.read, self.interval = _nvml_reader(library, uuid), _INTERVAL["nvml"]
        elif shutil.which("nvidia-smi"):
            self.read, self.interval = (lambda: _smi_reading(uuid)), _INTERVAL["nvidia-smi"]
        else:
            self.why = "neither nvidia-ml-py nor nvidia-smi is here"


class Sampler:
    """Samples a device from `__enter__` to `__exit__`; `clocks` is the summary afterwards."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._samples: list[Reading] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)

    def __enter__(self) -> Sampler:
        if self._device.read is not None:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._device.read is not None:
            self._thread.join()

    def _loop(self) -> None:
        assert self._device.read is not None
        while not self._done.is_set():
            self._samples.append(self._device.read())
            self._done.wait(self._device.interval)

    @property
    def clocks(self) -> Clocks:
        """Summary of the samples; empty where the device cannot be read."""
        return summarise(self._samples)


def summarise(samples: list[Reading]) -> Clocks:
    """Mean, lowest and highest SM clock, mean power, highest temperature, every throttle reason seen (except idle)."""
    if not samples:
        return Clocks(samples=0)
    clocks = [one.sm_mhz for one in samples if one.sm_mhz is not None]
    power = [one.power_w for one in samples if one.power_w is not None]
    heat = [one.temperature_c for one in samples if one.temperature_c is not None]
    bits = 0
    for one in samples:
        bits |= one.reasons
    return Clocks(
        samples=len(samples),
        sm_mhz_mean=sum(clocks) / len(clocks) if clocks else None,
        sm_mhz_min=min(clocks, default=None),
        sm_mhz_max=max(clocks, default=None),
        sm_mhz_limit=samples[-1].sm_mhz_limit,
        power_w_mean=sum(power) / len(power) if power else None,
        power_w_limit=samples[-1].power_w_limit,
        temperature_c_max=max(heat, default=None),
        throttle_reasons=reason_names(bits & ~0x1),
    )


def reason_names(bits: int) -> tuple[str, ...]:
    """The names of the reasons set in the bit mask."""
    return tuple(name for bit, name in _REASONS.items() if bits & bit)


def driver_version() -> str:
    """The NVIDIA driver's version, '' where there is none."""
    if (library := _nvml()) is not None:
        return str(library.nvmlSystemGetDriverVersion())
    if shutil.which("nvidia-smi"):
        first = _smi("--query-gpu=driver_version").splitlines()
        return first[0].strip() if first else ""
    return ""


def processes(uuid: str) -> list[int]:
    """Process ids of the compute work on a device, as far as the driver tells them here."""
    if (library := _nvml()) is not None:
        handle = library.nvmlDeviceGetHandleByUUID(uuid)
        return [one.pid for one in library.nvmlDeviceGetComputeRunningProcesses(handle)]
    if shutil.which("nvidia-smi"):
        lines = _smi("--query-compute-apps=pid", "-i", uuid).splitlines()
        return [int(line) for line in lines if line.strip().isdigit()]
    return []


def _nvml() -> ModuleType | None:
    try:
        library = importlib.import_module("pynvml")
        library.nvmlInit()
    except ImportError:
        return None
    except Exception as error:
        if type(error).__name__.startswith("NVMLError"):
            return None
        raise
    return library


def _nvml_reader(library: ModuleType, uuid: str) -> Callable[[], Reading]:
    handle = library.nvmlDeviceGetHandleByUUID(uuid)
    error = library.NVMLError

    def ask(call: Callable[..., Any], *args: Any) -> Any:
        try:
            return call(handle, *args)
        except error:
            return None

    limit = ask(library.nvmlDeviceGetMaxClockInfo, library.NVML_CLOCK_SM)
    cap = ask(library.nvmlDeviceGetEnforcedPowerLimit)

    def read() -> Reading:
        power = ask(library.nvmlDeviceGetPowerUsage)
        return Reading(
            sm_mhz=ask(library.nvmlDeviceGetClockInfo, library.NVML_CLOCK_SM),
            power_w=None if power is None else power / 1000,
            temperature_c=ask(library.nvmlDeviceGetTemperature, library.NVML_TEMPERATURE_GPU),
            reasons=ask(library.nvmlDeviceGetCurrentClocksThrottleReasons) or 0,
            sm_mhz_limit=limit,
            power_w_limit=None if cap is None else cap / 1000,
        )

    return read


def _smi(*arguments: str) -> str:
    command = ["nvidia-smi", *arguments, "--format=csv,noheader,nounits"]
    with contextlib.suppress(subprocess.SubprocessError):
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    return ""


def _smi_reading(uuid: str) -> Reading:
    cells = [cell.strip() for cell in _smi(f"--query-gpu={_QUERY}", "-i", uuid).split(",")]
    if len(cells) != 6:
        return Reading(None, None, None, 0, None, None)
    sm, power, heat, reasons, limit, cap = cells
    bits = int(reasons, 16) if reasons.startswith("0x") else 0
    return Reading(_float(sm), _float(power), _float(heat), bits, _float(limit), _float(cap))


def _float(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
