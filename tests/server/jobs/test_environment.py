import subprocess
import sys

from clusterwright.jobs import environment


def test_what_steers_a_measurement_is_inherited_and_nothing_else() -> None:
    around = {
        "PATH": "/bin", "CUDA_VISIBLE_DEVICES": "1", "NCCL_DEBUG": "INFO", "LC_ALL": "C", "SLURM_JOB_ID": "7",
        "PYTHONPATH": "/evil", "RANK": "3", "WORLD_SIZE": "8", "MASTER_ADDR": "h", "SLURM_PROCID": "3",
        "SLURM_STEP_NUM_TASKS": "8", "TORCHELASTIC_RUN_ID": "x", "AWS_SECRET_ACCESS_KEY": "s", "LD_PRELOAD": "x.so",
        "MY_PATH": "/x", "SITE_FABRIC": "blue",
    }  # fmt: skip
    kept = environment.clean(around, ["SITE_FABRIC"])
    assert set(kept) - {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"} == {
        "PATH", "CUDA_VISIBLE_DEVICES", "NCCL_DEBUG", "LC_ALL", "SLURM_JOB_ID", "SITE_FABRIC",
    }  # fmt: skip


def test_ranks_share_the_cores() -> None:
    cores = int(subprocess.check_output([sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"]))
    assert environment.for_ranks(1) == {}
    assert environment.for_ranks(2) == {"OMP_NUM_THREADS": str(max(1, cores // 2))}
    assert environment.for_ranks(4096) == {"OMP_NUM_THREADS": "1"}
