"""Why a workload misses its target, or what its numbers do not tell: printed below its table."""

from __future__ import annotations

REMARKS = {
    "ridge": """\
XᵀX and Xᵀy of a million rows are 3.6 GFLOP with the padding to whole vectors: in 0.021 s these are 86 GFLOP/s for
each of two cores, filling the tiles included, of the 137 that one can do. Another AMD EPYC took 0.050 and 0.057 s
(5.9 and 6.3 times as fast as scikit-learn), a Xeon 0.048 to 0.072 s (6.0 to 8.4 times).""",
    "kde_6d": """\
250 million pairs of six differences and one exponential each: with so wide a kernel no pair can be skipped. Another
AMD EPYC came to ratios of 36, 43 and 49, a Xeon to 46 to 56. Where the answers differ, mercer is right: at the twenty
queries where they differ most its log densities are within 2e-14 of sums taken directly, in NumPy, and
scikit-learn's, which was asked for no tolerance, within 3e-4.""",
    "kernel_ridge": """\
Preconditioned conjugate gradients take 44 steps here, and each reads half of the matrix in float32, 200 MB: memory is
what they wait for. On another AMD EPYC the ratio was 5.1, on a Xeon, which gives 10 to 13 GB/s, 4.0 to 4.7.""",
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
lives by, save little. Of 0.39 s on one thread conjugate gradients among the coefficients that keep their signs take
0.14 s, eleven sweeps, which go through five million entries in order on one core whatever the threads, 0.06 s, and
turning rows into columns 0.03 s; two threads take 0.25 s. With a penalty that leaves 85 coefficients the ratio was
about 2.5 on another machine.""",
    "online": """\
Each update depends on the one before, so that one core does all. A loop that does nothing but add to 40 of a million
weights per row takes 0.044 s per million rows here, one that only reads them 0.023 s, and the whole rule 0.10 s,
since product, logistic function and update wait for each other; neither other sums of the product nor larger pages of
memory made it faster. 390 million features per second; the ratio was 1.7 and 2.3 on another AMD EPYC.""",
    "out_of_core": """\
The files are in the page cache, so that plain reading decodes 6 GB/s from memory; from a disk that reads less than 3
GB/s all fits take as long as the disk. Five times a rival that reads the rows once is out of reach where reading
alone takes a fifth of its time. Columns have to become rows before they are multiplied, which plain reading does not
do: on another AMD EPYC, where plain reading took 3.3 s, naive Bayes came to 96, 82 and 98 % of its speed, ridge to
69, 89 and 70 %, logistic regression to 78, 80 and 77 %. Dask took 38, 2 and 65 % more than threads there: its two
workers share two cores with the scheduler and the client. Stochastic gradients are one epoch, whose loss is 0.006
above the optimum and which nothing proves; the logistic regression is at the optimum, after four passes.""",
    "nystroem": """\
The product of 100,000 × 1,000 kernels with a root of 1,000 × 1,000 is 200 GFLOP: about 0.9 s of two cores by panels
of our own, twice that by the BLAS of NumPy, which does not know this processor (docs/decisions/0007). The rest is
memory for 800 MB of features, which the system hands out anew in each call, the kernels, and the root.""",
    "linear_svc": """\
liblinear stops at its thousand passes with a hinge loss that is 5e-5 above ours, whose duality gap proves it: that
race does not count.""",
    "kde_1d": """\
mercer looks at the numbers three times (are they finite, where do they end, into which bins do they fall), KDEpy once,
in compiled code on one core. Before the first two looks were taken by all threads it took 0.027 s (1.6×).""",
}
