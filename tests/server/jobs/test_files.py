from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from clusterwright.jobs import files


def test_writers_at_the_same_time_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "state.json"

    def write(number: int) -> object:
        files.write(path, {"number": number, "filling": "x" * 10000})
        return files.read(path)["filling"]

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(write, range(200))) == {"x" * 10000}
    assert list(tmp_path.iterdir()) == [path]


def test_only_two_states_are_not_the_end() -> None:
    assert [state.value for state in files.State if not state.finished] == ["queued", "running"]
