import threading

from clusterwright_tools.task import Task, hanging


def test_a_task_that_hangs_is_seen_until_it_ends():
    go = threading.Event()
    task = Task(go.wait)
    assert not task.wait(0.01)
    assert hanging()
    go.set()
    assert task.wait(10)
    assert task.result is True and not hanging()


def test_a_task_keeps_the_error_that_the_user_can_mend():
    def fail():
        raise RuntimeError("no route to host")

    task = Task(fail)
    assert task.wait(10)
    assert str(task.error) == "no route to host" and not task.returned
