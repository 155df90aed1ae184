import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from clusterwright_tools import telemetry
from clusterwright_tools.telemetry import Device, Reading, Sampler, reason_names, summarise


def reading(sm: float, reasons: int = 0) -> Reading:
    return Reading(sm, 500.0, 60.0, reasons, 1980.0, 700.0)


def test_summary() -> None:
    clocks = summarise([reading(1980, 0x1), reading(1400, 0x4), reading(1700, 0x40)])
    assert (clocks.sm_mhz_min, clocks.sm_mhz_max, clocks.samples) == (1400, 1980, 3)
    assert clocks.sm_mhz_mean == pytest.approx(1693.3, abs=0.1)
    assert clocks.throttle_reasons == ("SW power cap", "HW thermal slowdown")


def test_no_samples_is_no_figure() -> None:
    assert summarise([]).sm_mhz_mean is None


def test_reasons_by_bit() -> None:
    assert reason_names(0x4 | 0x8 | 0x80) == ("SW power cap", "HW slowdown", "HW power brake")


def test_sampler_reads_at_least_once() -> None:
    device = Device("")
    device.read, device.interval = (lambda: reading(1500)), 10.0
    with Sampler(device) as sampler:
        pass
    assert sampler.clocks.sm_mhz_mean == 1500


def test_without_a_device_it_says_why() -> None:
    device = Device("")
    assert device.read is None and device.why == "no NVIDIA device"
    with Sampler(device) as sampler:
        pass
    assert sampler.clocks.samples == 0


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for nvidia-smi in front of PATH, and no NVML."""
    monkeypatch.setitem(sys.modules, "pynvml", None)
    path = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return path


def answer(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\necho '{text}'\n")
    path.chmod(0o755)


def test_nvidia_smi_is_read_where_nvml_is_missing(smi: Path) -> None:
    answer(smi, "1455, 641.20, 63, 0x0000000000000004, 1980, 700.00")
    device = Device("GPU-1")
    assert device.read is not None
    assert device.read() == Reading(1455.0, 641.2, 63.0, 4, 1980.0, 700.0)


def test_nvidia_smi_that_does_not_know(smi: Path) -> None:
    answer(smi, "[N/A], [N/A], 40, [N/A], 1980, [N/A]")
    device = Device("GPU-1")
    assert device.read is not None
    assert device.read() == Reading(None, None, 40.0, 0, 1980.0, None)


def test_nvidia_smi_that_fails(smi: Path) -> None:
    smi.write_text("#!/bin/sh\nexit 9\n")
    smi.chmod(0o755)
    device = Device("GPU-1")
    assert device.read is not None and device.read().sm_mhz is None
    assert telemetry.driver_version() == ""


def test_processes_from_nvidia_smi(smi: Path) -> None:
    answer(smi, "4242")
    assert telemetry.processes("GPU-1") == [4242]


def test_nvml_is_preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    class NVMLError(Exception):
        pass

    def missing(*_: object) -> None:
        raise NVMLError

    fake = SimpleNamespace(
        NVMLError=NVMLError,
        NVML_CLOCK_SM=1,
        NVML_TEMPERATURE_GPU=0,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByUUID=lambda uuid: uuid,
        nvmlDeviceGetMaxClockInfo=lambda handle, kind: 1980,
        nvmlDeviceGetEnforcedPowerLimit=lambda handle: 700_000,
        nvmlDeviceGetPowerUsage=lambda handle: 650_500,
        nvmlDeviceGetClockInfo=lambda handle, kind: 1500,
        nvmlDeviceGetTemperature=missing,
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda handle: 0x4,
    )
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    device = Device("GPU-1")
    assert device.read is not None
    assert device.read() == Reading(1500, 650.5, None, 4, 1980, 700.0)
