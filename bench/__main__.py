"""`python -m bench [WORKLOAD …]`: run the race and write the tables; `--write`: only write them, from results.json."""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tempfile

WORKLOADS = (
    "gaussian_nb",
    "multinomial_nb",
    "lda",
    "qda",
    "ridge",
    "logistic",
    "poisson",
    "poisson_categorical",
    "softmax",
    "lasso_path",
    "sparse_logistic_l1",
    "sparse_logistic",
    "linear_svc",
    "sparse_linear_svc",
    "online",
    "svc",
    "svc_wide",
    "svr",
    "svc_scaling",
    "sizes",
    "weisfeiler_lehman",
    "count_vectorizer",
    "kernel_ridge",
    "fourier",
    "nystroem",
    "nystroem_ridge",
    "nystroem_logistic",
    "kde",
    "kde_6d",
    "kde_1d",
    "nadaraya_watson",
    "out_of_core",
    "out_of_core_scaling",
    "scaling",
    "startup",
)

#: workloads without first calls, which use the compiled code of the user's cache
WARM = ("sizes",)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Race mercer against its rivals.")
    parser.add_argument("workload", nargs="*", metavar="WORKLOAD", help=f"{', '.join(WORKLOADS)}; default: all")
    parser.add_argument("--rows", type=int, help="try with so many rows (of `sizes`: at most); writes nothing")
    parser.add_argument("--threads", type=int, help="default: every core this process may use")
    parser.add_argument("--no-memory", dest="memory", action="store_false", help="leave peak memory out")
    parser.add_argument("--write", action="store_true", help="run nothing; write the tables of what was measured")
    arguments = parser.parse_args()
    if unknown := set(arguments.workload) - set(WORKLOADS):
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(WORKLOADS)}")
    return arguments


def main() -> None:
    arguments = parse_arguments()
    if arguments.write:
        write_what_was_measured()
        return
    names = arguments.workload or WORKLOADS
    if len(names) > 1:
        for name in names:
            _run_in_a_process_of_its_own(name)
        return
    if names[0] in WARM:
        run(names[0], arguments)
        return
    with tempfile.TemporaryDirectory(prefix="mercer-bench-") as cache:
        # before numba is imported: an empty cache, so that the first call is one that compiles
        os.environ["NUMBA_CACHE_DIR"] = cache
        run(names[0], arguments)


def write_what_was_measured() -> None:
    from bench import results

    results.write_tables(results.load())


def _run_in_a_process_of_its_own(name: str) -> None:
    """What one workload compiled would make the first call of the next look cheap."""
    options = [argument for argument in sys.argv[1:] if argument not in WORKLOADS]
    subprocess.run([sys.executable, "-m", "bench", name, *options], check=True)


def run(name: str, arguments: argparse.Namespace) -> None:
    from bench import plots, results
    from bench.harness import Options
    from mercer._threads import available_cores

    options = Options(arguments.threads or available_cores(), rows=arguments.rows, memory=arguments.memory)
    report = importlib.import_module(f"bench.{name}").WORKLOAD.run(options)
    print(results.section(report), flush=True)
    if arguments.rows is None:
        plots.draw(report)
        results.write_tables(results.save(report, WORKLOADS))


if __name__ == "__main__":
    main()
