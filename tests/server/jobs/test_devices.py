from pathlib import Path

import pytest

from clusterwright.jobs import devices


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, 4),
        ({"CUDA_VISIBLE_DEVICES": "0,2"}, 2),
        ({"CUDA_VISIBLE_DEVICES": " 3 "}, 1),
        ({"CUDA_VISIBLE_DEVICES": ""}, 0),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, 0),
        ({"CUDA_VISIBLE_DEVICES": "0,9,1"}, 1),
        ({"CUDA_VISIBLE_DEVICES": "GPU-5fe1,GPU-77ab"}, 2),
        ({"CUDA_VISIBLE_DEVICES": "MIG-5fe1"}, 1),
        ({"CLUSTERWRIGHT_DEVICE": "cpu"}, 0),
        ({"HIP_VISIBLE_DEVICES": "0"}, 4),
    ],
)
def test_visible_nvidia_devices(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], found: int) -> None:
    monkeypatch.setattr(devices, "_nvidia", lambda: 4)
    assert devices.count(environment) == found


@pytest.mark.parametrize(
    ("environment", "found"),
    [({}, 2), ({"HIP_VISIBLE_DEVICES": "1"}, 1), ({"ROCR_VISIBLE_DEVICES": "0,1", "HIP_VISIBLE_DEVICES": "0"}, 1)],
)
def test_visible_amd_devices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], found: int
) -> None:
    for number, gpu in enumerate(("0", "0", "51110", "4020")):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "gpu_id").write_text(gpu + "\n")
    monkeypatch.setattr(devices, "_nvidia", lambda: 0)
    monkeypatch.setattr(devices, "_KFD", tmp_path)
    assert devices.count(environment) == found


def test_no_driver_is_no_device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail() -> None:
        raise devices.pynvml.NVMLError(devices.pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(devices.pynvml, "nvmlInit", fail)
    monkeypatch.setattr(devices, "_KFD", tmp_path / "missing")
    assert devices.count({}) == 0
