"""Why a workload misses its reach, or what its numbers do not tell: printed below its table."""

from __future__ import annotations

REMARKS = {
    "ridge": """\
XᵀX and Xᵀy of a million rows are 3.6 GFLOP with the padding to whole vectors. Our loop multiplies a tile that lies in
the L1 cache at 76 GFLOP/s per core (BLAS: 21 at this width); filling the tiles takes a fifth of the time. On two cores
that is about 0.045 s. Runs took 0.048 to 0.072 s here and those of scikit-learn-intelex 0.087 to 0.116 s, as the speed
of the machine went up and down. The ratio was 1.4 to 1.7 in three runs, and 6.0 to 8.4 to scikit-learn.""",
    "kde_6d": """\
250 million pairs of six differences and one exponential each are 36 vector instructions for eight of them, about 0.2 s
on this machine; nothing is out of reach of a kernel this wide. Runs took 0.24 to 0.26 s and those of scikit-learn 11.9
to 14.6 s: the ratio was 46, 55 and 56 in three runs. Where the answers differ, mercer is right: at the twenty queries
where they differ most its log densities are within 2e-14 of sums taken directly, in NumPy, and scikit-learn's, which
was asked for no tolerance, within 3e-4.""",
    "kernel_ridge": """\
Preconditioned conjugate gradients take 44 steps here, and each reads half of the matrix in float32, 200 MB, in 16 to 20
ms: memory gives 10 to 13 GB/s. Two products in float64, which the certificate of 1e-8 is computed with, take 0.35 s,
pivots and tiles 0.3 s. Runs took 1.65 to 1.97 s; the ratio was 4.0 to 4.7, above the 3 that was set out for a Cholesky
factor and below the 5 for conjugate gradients.""",
    "nystroem_ridge": """\
The kernels with the landmarks are computed once, in float32, while the gradient at the fit of a sample is added up:
0.8 s in a good run. Nine products with 2 GB of them take 0.9 s, the square of that sample's 30,000 rows 0.3 s, the
gradient that ends the fit 0.2 s, what float32 did to it, told by float64 on one of 32 rows, 0.1 s, eigenvalues of the
landmarks 0.15 s, the exact twin of 500 rows 0.15 s. Such a run takes 3.0 s, which is the reach; but runs whose 2 GB the
system had not handed out before took up to 2 s longer: the ratio was 5.3 in one run, and 7.9 in the next, which is the
one above.""",
    "count_vectorizer": """\
200 MB hold 32 million words of 200,000 different ones, of which rare ones are frequent (every decade of ranks alike),
so that most of the tables lie outside of the cache. A word takes about 50 ns of one core: 16 to find it and write it
in lower case, 5 for its hash, 20 for the table and the count; rows are put in order, which scikit-learn's are not.
With 78 MB in the run before: 18.9, 15.7 and 26.3 times as fast. One short document is counted by Python itself, as
scikit-learn does.""",
    "lasso_path": """\
Seconds are to three digits, and scikit-learn's are of one call. celer is left out: the machine was busy while it
ran.""",
    "sparse_logistic_l1": """\
28,000 of the 50,000 coefficients are not zero at the optimum, so that working sets and screening, which the method
lives by, save little. Conjugate gradients take a third of the time, sweeps a quarter, turning rows into columns an
eighth. With a penalty that leaves 85 coefficients the ratio was about 2.5.""",
    "online": """\
Each update depends on the one before, so that one core does all, and its time is that of memory: reading and writing
40 of a million weights per row, in a loop without any arithmetic between, took 0.29 s per million rows here; the whole
rule takes 0.25 to 0.28 s, because the weights of later rows are asked for early.""",
    "out_of_core": """\
The files are in the page cache, so that plain reading decodes from memory; from a disk that reads less than 1.5 GB/s
all fits take as long as the disk. Five times scikit-learn's partial_fit is out of reach where reading alone takes a
quarter of its time. In the run before plain reading took 3.15 s, naive Bayes 3.29 s (96 %, 3.7 times as fast as
partial_fit), ridge 69 %, logistic regression 78 %; Dask took 38 % more than threads there and 2 % more in this one,
and from 20 % less to 45 % more in shorter runs on the same machine. Stochastic gradients are one epoch, whose loss is
0.006 above the optimum and which nothing proves; the logistic regression is at the optimum, after four passes.""",
}
