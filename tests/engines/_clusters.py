"""Dask clusters on this machine."""

from __future__ import annotations

from distributed import LocalCluster


def cluster_of(workers: int, *, processes: bool) -> LocalCluster:
    """Workers of one thread each; without `processes` they are threads of this one, which is quick to start."""
    return LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=processes, dashboard_address=":0", memory_limit=0
    )
