"""The job tools on real jobs: started by one server, found by another, ended with everything they started."""

from collections.abc import Callable

import psutil
import pytest
from mcp import Client

from clusterwright.mcp.server import Server

from .test_knowledge import ask

QUICK = {"seconds": 2, "shapes": ["64x64x64"], "confirm": True}


async def test_a_job_from_start_to_report(client: Callable[..., Client]) -> None:
    async with client() as c:
        job = (await ask(c, "measure_matmul_flops", **QUICK))["job_id"]
        first = await ask(c, "job_wait", job_id=job, seconds=0)
        assert first["next"] == "job_wait" and not first["finished"]
        done = await ask(c, "job_wait", job_id=job, seconds=50)
        assert done["state"] == "done" and done["report"]["tool"] == "matmul-flops"
        assert await ask(c, "job_report", job_id=job) == done["report"]
        assert (await ask(c, "job_list"))["jobs"][0]["id"] == job
        assert "matmul-flops: UNKNOWN" in (await ask(c, "job_log", job_id=job))["log"]
        resource = await c.read_resource(f"clusterwright://report/{job}")
    assert '"tool": "matmul-flops"' in resource.contents[0].text  # type: ignore[union-attr]


async def test_another_server_finds_and_cancels_a_job(make: Callable[..., Server]) -> None:
    async with Client(make()) as one:
        job = (await ask(one, "measure_matmul_flops", seconds=600, confirm=True))["job_id"]
    async with Client(make()) as two:
        while (status := await ask(two, "job_status", job_id=job))["progress"] == "":
            assert not status["finished"], status
        mine = [p for p in psutil.process_iter(["cmdline"]) if job in " ".join(p.info["cmdline"] or [])]
        assert mine
        await ask(two, "job_cancel", job_id=job)
        ended = await ask(two, "job_wait", job_id=job, seconds=50)
    assert ended["state"] == "cancelled" and ended["report"]["metrics"]
    psutil.wait_procs(mine, timeout=10)
    assert not any(p.is_running() for p in mine)


@pytest.mark.parametrize("tool", ["job_status", "job_wait", "job_log", "job_report", "job_cancel"])
@pytest.mark.parametrize("job", ["matmul-flops-aaaaaaaaaa", "../../etc/passwd", ""])
async def test_unknown_jobs(client: Callable[..., Client], tool: str, job: str) -> None:
    async with client() as c:
        answer = await c.call_tool(tool, {"job_id": job})
    assert answer.is_error and "unknown job" in answer.content[0].text  # type: ignore[union-attr]
