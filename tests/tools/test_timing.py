from clusterwright_tools.timing import Timer


def test_each_call_is_timed_without_what_runs_before_it() -> None:
    calls: list[str] = []
    seconds = Timer("cpu").each(lambda: calls.append("run"), 3, lambda: calls.append("before"))
    assert calls == ["before", "run"] * 3
    assert len(seconds) == 3 and min(seconds) >= 0


def test_windows_hold_so_many_calls() -> None:
    calls: list[int] = []
    windows = Timer("cpu").windows(lambda: calls.append(1), 0.01, 5, lambda: False)
    assert len(calls) == 5 * len(windows)


def test_one_window_even_when_stopped_at_once() -> None:
    assert len(Timer("cpu").windows(lambda: None, 60.0, 1, lambda: True)) == 1
