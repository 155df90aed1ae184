"""RDMA network interfaces of this host (InfiniBand, RoCE), as the kernel lists them."""

from __future__ import annotations

import os
import re
from pathlib import Path

_FOLDER = Path("/sys/class/infiniband")


def node_gb_s(folder: Path = _FOLDER) -> float | None:
    """Sum of the port rates, per direction in GB/s, of the fastest active ports; None where there are none.

    Slower ports beside them are management or storage, which NCCL leaves alone. `NCCL_IB_HCA` restricts the devices as
    it does for NCCL: prefixes parted by commas, `=` for exact names, `^` for all but these.
    """
    rates = [
        rate
        for device in sorted(folder.iterdir() if folder.is_dir() else ())
        for port in sorted((device / "ports").iterdir())
        if wanted(device.name, port.name, os.environ.get("NCCL_IB_HCA", "")) and (rate := _rate(port))
    ]
    return sum(rate for rate in rates if rate == max(rates)) / 8 if rates else None


def wanted(device: str, port: str, hca: str) -> bool:
    """Whether `NCCL_IB_HCA` lets NCCL use a port of a device."""
    match = re.fullmatch(r"(\^?)(=?)(.*)", hca)
    assert match is not None
    refused, exact, names = bool(match[1]), bool(match[2]), [one for one in match[3].split(",") if one]
    if not names:
        return True
    pairs = [name.partition(":")[::2] for name in names]
    hit = any((device == name if exact else device.startswith(name)) and only in ("", port) for name, only in pairs)
    return hit != refused


def _rate(port: Path) -> float | None:
    """Gbit/s of an active port, from lines such as `4: ACTIVE` and `400 Gb/sec (4X NDR)`."""
    if "ACTIVE" not in (port / "state").read_text():
        return None
    match = re.match(r"\s*([\d.]+)\s*Gb/sec", (port / "rate").read_text())
    return float(match[1]) if match else None
