"""The job tools: status, wait, log, report, cancel, list."""

import asyncio
import time
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from clusterwright import jobs
from clusterwright.mcp.app import App
from clusterwright.mcp.results import READ_ONLY, STARTS_WORK, both
from clusterwright_tools import render

JobId = Annotated[str, Field(description="A job id, as measure_start or job_list gives it")]
_LONGEST_WAIT = 50.0
_STEP = 1.0


def register(server: MCPServer[Any], app: App) -> None:
    """Put the job tools on the server."""

    @server.tool(title="List jobs", annotations=READ_ONLY)
    def job_list(limit: Annotated[int, Field(ge=1, le=100, description="Newest first")] = 20) -> CallToolResult:
        """Measurements that were started on this machine, by any client or from the shell."""
        listed = [job.to_dict() for job in jobs.listed()[:limit]]
        return both("\n".join(_line(one) for one in listed) or "no jobs yet", {"jobs": listed})

    @server.tool(title="Job status", annotations=READ_ONLY)
    def job_status(job_id: JobId) -> CallToolResult:
        """State and progress of a job."""
        job = jobs.get(job_id).to_dict()
        return both(_line(job), job)

    @server.tool(title="Wait for a job", annotations=READ_ONLY)
    async def job_wait(
        job_id: JobId,
        ctx: Context[Any, Any],
        seconds: Annotated[float, Field(ge=0, description="Longest wait, at most 50; call again while it runs")] = 45,
    ) -> CallToolResult:
        """Wait until a job is finished, then return its report; or return its state when the time is over."""
        begin = time.monotonic()
        left = min(seconds, _LONGEST_WAIT)
        job = await asyncio.to_thread(jobs.wait, job_id, min(_STEP, left))
        while not job.finished and (left := left - _STEP) > 0:
            await ctx.report_progress(time.monotonic() - begin, None, _line(job.to_dict()))
            job = await asyncio.to_thread(jobs.wait, job_id, min(_STEP, left))
        if job.finished:
            return await asyncio.to_thread(_outcome, job)
        data = job.to_dict() | {"next": "job_wait"}
        return both(_line(data) + "; call job_wait again", data)

    @server.tool(title="Job log", annotations=READ_ONLY)
    def job_log(
        job_id: JobId, lines: Annotated[int, Field(ge=1, le=500, description="Lines from the end")] = 50
    ) -> CallToolResult:
        """The end of what a job printed."""
        text = jobs.log(job_id, lines)
        return both(text, {"job_id": job_id, "log": text})

    @server.tool(title="Job report", annotations=READ_ONLY)
    def job_report(job_id: JobId) -> CallToolResult:
        """The report of a finished job: verdict, figures with their conditions, findings with the sections to read."""
        report = jobs.report(job_id)
        return both(render.text(report), report.to_dict())

    if app.read_only:
        return

    @server.tool(title="Cancel a job", annotations=STARTS_WORK)
    async def job_cancel(job_id: JobId) -> CallToolResult:
        """Stop a job and everything it started; what it measured so far is kept in its report."""
        job = (await asyncio.to_thread(jobs.cancel, job_id)).to_dict()
        return both(_line(job), job)


def _outcome(job: jobs.Job) -> CallToolResult:
    data: dict[str, Any] = job.to_dict()
    try:
        report = jobs.report(job.id)
    except jobs.NoReport:
        return both(_line(data), data)
    return both(render.text(report), data | {"report": report.to_dict()})


def _line(job: dict[str, Any]) -> str:
    progress = "" if job["finished"] else job["progress"]
    line = f"{job['id']}: {job['state']}" + (f": {progress}" if progress else "")
    return line + (f" ({job['reason']})" if job["reason"] else "")
