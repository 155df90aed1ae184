"""What the server tells a client about itself: what it covers, and how to use it."""

from clusterwright import paths
from clusterwright.mcp.app import App

_LIMIT = 2000  # clients cut instructions at 2 KB


def text(app: App) -> str:
    """The instructions, with the titles of the chapters as far as they fit."""
    lines = [
        "Clusterwright answers questions about training and serving large models on real machines from cited "
        "chapters, and measures on this machine.",
    ]
    if "knowledge" in app.toolsets:
        lines.append(
            "Search first, one question a call, with the symptom or the pasted log line as it is. Quote figures "
            "with their source. `lookup` gives exact rows (a GPU, a link, an Xid, a variable). `mode: lexical` in a "
            "result means that the embedding model is still loading."
        )
    if "measure" in app.toolsets and not app.read_only:
        lines.append(
            "When a result lists `measurements`, offer to run one: tell the user its duration and impact, start it "
            "with measure_start, then job_wait until it is finished, and read the report's findings."
        )
    lines.append("Chapters: " + "; ".join(_titles()) + ".")
    lines.append("Not covered: general programming, model quality, prices of today.")
    return "\n".join(lines)[:_LIMIT]


def _titles() -> list[str]:
    found = []
    for path in sorted(paths.shipped("knowledge").glob("*/*.md")):
        with path.open(encoding="utf-8") as stream:
            for line in stream:
                if line.startswith("title:"):
                    found.append(line.removeprefix("title:").strip().strip("\"'"))
                    break
    return found
