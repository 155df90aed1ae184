"""How fast the search is: the first answer of a fresh process, and answers of a warm one.

Theory first. A lexical answer costs a sparse product over the chunks that share a term with the query: well under a
millisecond of work, so what is measured is Python around it. A hybrid answer adds one pass of the embedding model over
the query (about 20 MFLOP a token for a six-layer model of width 384, so a few milliseconds on one core), one message to
the embedding process and back, and one look-up in Chroma. The first answer of a process is imports: NumPy, SciPy (which
bm25s loads), pydantic; Chroma for a hybrid one. The ceiling is the model's own time, printed first.

    python benchmarks/search.py [--rounds N]

The index is built when it is missing. Run it on an idle machine.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from clusterwright import config, paths
from clusterwright.retrieval.embedder import Embedder
from clusterwright.retrieval.search import Searcher

QUESTIONS = Path(__file__).parents[1] / "evals/questions.jsonl"
COLD_ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description="Latency of the search.")
    parser.add_argument("--rounds", type=int, default=3, help="passes over the questions")
    rounds = parser.parse_args().rounds
    queries = [json.loads(line)["query"] for line in QUESTIONS.read_text(encoding="utf-8").splitlines()] * rounds
    searcher = Searcher()
    searcher.search("warm up", wait=True)
    embedder = Embedder(config.load().embedding, paths.data_dir())

    print(f"{len(queries)} queries, milliseconds{'':17} p50     p90     p99     max")
    show(
        "query embedded (the ceiling of hybrid)",
        [timed(lambda query=query: embedder.embed([query])) for query in queries],
    )
    show("lexical, warm", [timed(lambda query=query: searcher.search(query, mode="lexical")) for query in queries])
    show("hybrid, warm", [timed(lambda query=query: searcher.search(query)) for query in queries])
    for mode in ("lexical", "hybrid"):
        show(f"{mode}, whole process", [timed(lambda mode=mode: command(mode)) for _ in range(COLD_ROUNDS)])


def command(mode: str) -> None:
    argv = [sys.executable, "-m", "clusterwright", "search", "--json", "--mode", mode, "nccl timeout"]
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def show(name: str, samples: list[float]) -> None:
    cuts = statistics.quantiles(samples, n=100, method="inclusive")
    print(f"{name:40}{cuts[49]:8.1f}{cuts[89]:8.1f}{cuts[98]:8.1f}{max(samples):8.1f}")


if __name__ == "__main__":
    main()
