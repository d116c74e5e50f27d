"""Why a workload misses its target, or what its numbers do not tell: printed below its table."""

from __future__ import annotations

REMARKS = {
    "ridge": """\
XᵀX and Xᵀy of a million rows are 3.6 GFLOP with the padding to whole vectors: in 0.05 s these are 36 GFLOP/s for each
of two cores, filling the tiles included; BLAS came to 21 at this width on a Xeon. Runs took 0.050 and 0.057 s here, on
the Xeon 0.048 to 0.072 s. What was set out for reckoned with 0.86 s for scikit-learn, which took 0.32 to 0.43 s: the
ratio was 5.9 and 6.3 here, 6.0 to 8.4 on the Xeon; to scikit-learn-intelex 2.5 and 2.9 here, 1.4 to 1.7 there.""",
    "kde_6d": """\
250 million pairs of six differences and one exponential each are 36 vector instructions for eight of them, about 0.2 s
on a Xeon; nothing is out of reach of a kernel this wide. Runs took 0.21 to 0.25 s and those of scikit-learn 8.8
to 10.3 s: the ratio was 36, 43 and 49 in three runs, 46 to 56 on a Xeon. Where the answers differ, mercer is right: at
the twenty queries where they differ most its log densities are within 2e-14 of sums taken directly, in NumPy, and
scikit-learn's, which was asked for no tolerance, within 3e-4.""",
    "kernel_ridge": """\
Preconditioned conjugate gradients take 44 steps here, and each reads half of the matrix in float32, 200 MB: memory is
what they wait for. On a Xeon, which gives 10 to 13 GB/s, the ratio was 4.0 to 4.7.""",
    "nystroem_ridge": """\
The kernels with the landmarks are computed once, in float32, while the gradient at the fit of a sample is added up;
nine products with 2 GB of them take as long as that again. Runs whose 2 GB the system had not handed out before took
up to 2 s longer: on a Xeon the ratio was 5.3 in one run and 7.9 in the next.""",
    "count_vectorizer": """\
200 MB hold 32 million words of 200,000 different ones, of which rare ones are frequent (every decade of ranks alike),
so that most of the tables lie outside of the cache. A word takes about 50 ns of one core: 16 to find it and write it
in lower case, 5 for its hash, 20 for the table and the count; rows are put in order, which scikit-learn's are not.
With 78 MB in the run before: 18.9, 15.7 and 26.3 times as fast. One short document is counted by Python itself, as
scikit-learn does.""",
    "lasso_path": """\
scikit-learn's seconds are of one call.""",
    "sparse_logistic_l1": """\
28,000 of the 50,000 coefficients are not zero at the optimum, so that working sets and screening, which the method
lives by, save little: of 0.56 s conjugate gradients among the coefficients that keep their signs take 0.22 s, and
eleven sweeps, which go through five million entries in order on one core, 13 ms each. With a penalty that leaves 85
coefficients the ratio was about 2.5.""",
    "online": """\
Each update depends on the one before, so that one core does all, and its time is that of memory: on a Xeon reading and
writing 40 of a million weights per row, in a loop without any arithmetic between, took 0.29 s per million rows and the
whole rule 0.25 to 0.28 s, because the weights of later rows are asked for early. Here it takes 0.15 to 0.17 s, and the
ratio was 1.7 and 2.3 in two runs.""",
    "out_of_core": """\
The files are in the page cache, so that plain reading decodes from memory; from a disk that reads less than 1.5 GB/s
all fits take as long as the disk. Five times a rival that reads the rows once is out of reach where reading alone takes
a quarter to a third of its time. In two runs before naive Bayes came to 96 and 82 % of the speed of plain reading,
ridge to 69 and 89 %, logistic regression to 78 and 80 %; Dask took 38 and 2 % more than threads: its two workers share
two cores with the scheduler and the client, and wait whenever these have work to do. Stochastic gradients are one
epoch, whose loss is 0.006 above the optimum and which nothing proves; the logistic regression is at the optimum, after
four passes.""",
    "nystroem": """\
The product of 100,000 × 1,000 kernels with a root of 1,000 × 1,000, 200 GFLOP, is BLAS's in both: 1.9 s of 2.9 here,
where it does 103 GFLOP/s. On a Xeon the ratio was 1.6.""",
    "linear_svc": """\
liblinear stops at its thousand passes with a hinge loss that is 5e-5 above ours, whose duality gap proves it: that
race does not count.""",
}
