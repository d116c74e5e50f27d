r"""
Lecture 4b: density estimation and kernel regression
====================================================

Given numbers :math:`x_1, \ldots, x_N` from an unknown distribution, what is its density :math:`p(x)`? The second half
of lecture 4 (F. Sha, 2017) goes from spikes over counts in an interval to Parzen windows, and from a joint density
of :math:`x` and :math:`y` to Nadaraya and Watson's regression. No shape is assumed, only smoothness; its amount is
the only choice.

In practice: :doc:`/guides/tour`.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats
from scipy.integrate import quad

from mercer import DensityOutliers, HistogramDensity, KernelDensity, NadarayaWatson
from mercer.density import smoothing_kernel_from

# colours that colour-blind readers can distinguish
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"


def true_density(x):
    """Two normal heaps, the narrow one with 40 of 100 points; known, to judge estimates by."""
    return 0.4 * stats.norm.pdf(x, -2, 0.5) + 0.6 * stats.norm.pdf(x, 1, 1)


rng = np.random.default_rng(4)
N = 80
points = np.where(rng.random(N) < 0.4, rng.normal(-2, 0.5, N), rng.normal(1, 1, N))
X = points[:, None]  # models take rows
x = np.linspace(-4.5, 4.5, 601)

# %%
# From spikes to counts
# ---------------------
# The lecture's first idea puts mass :math:`1/N` on every point and none elsewhere:
#
# .. math:: \hat{p}(x) = \frac{1}{N} \sum_{n=1}^N \delta(x - x_n)
#
# (Dirac's :math:`\delta` is printed as 1 at zero. It has to be infinite there, with an integral of 1, or the whole
# would have no mass.) Under it nothing is possible that was not seen, which cannot be right. It is also the limit of
# the estimators below as their width goes to zero:

spiky = KernelDensity(kernel="uniform", bandwidth=1e-9).fit(X)
at_a_point, beside_it = np.exp(spiky.score_samples([X[0], X[0] + 1e-6]))
print(f"density at a point: {at_a_point:.0f}, a millionth beside it: {beside_it:.0f}")
assert np.isclose(at_a_point, 1 / (2 * 1e-9 * N))
assert beside_it == 0

# %%
# If the density is smooth, an interval :math:`[x - h, x + h]` has probability :math:`2 h \, p(x)`, nearly; and its
# share of the points estimates that probability. So **the naive estimator** counts:
#
# .. math:: \hat{p}(x) = \frac{\mathrm{number \; of \;} x_n \in [x - h, x + h]}{2 h N}
#
# A histogram counts too, but in bins that stay where they are, while this interval moves along with :math:`x`.

h = 0.5
count = np.sum(np.abs(x[:, None] - points) <= h, axis=1)
naive = KernelDensity(kernel="uniform", bandwidth=h).fit(X)
assert np.allclose(np.exp(naive.score_samples(x[:, None])), count / (2 * h * N))

edges = np.arange(-4.5, 5.5, 2 * h)
histogram = HistogramDensity(bins=edges).fit(X)
by_numpy, _ = np.histogram(points, bins=edges, density=True)
assert np.allclose(histogram.density_, by_numpy)

fig, axes = plt.subplots(1, 2, figsize=(8, 2.9), sharey=True, layout="constrained")
titles = ["A histogram's bins stand still", "The naive estimator's window moves"]
for ax, model, title in zip(axes, [histogram, naive], titles, strict=True):
    ax.fill_between(x, true_density(x), color=GREY, alpha=0.25, lw=0, label="true density")
    ax.plot(x, np.exp(model.log_density(x[:, None])), color=BLUE, label="estimate")
    ax.plot(points, np.full(N, -0.015), "|", color="black", ms=6, alpha=0.6)
    ax.set(xlabel="x", title=title)
axes[0].set(ylabel="density", ylim=(-0.03, 0.42))
axes[0].legend(frameon=False, loc="upper right")
plt.show()

# %%
# Both are ragged, and both are exactly 0 where no point is near: the smoothness we assumed is not yet in the answer.
#
# The count is a sum of kernels
# -----------------------------
# Write :math:`K(u) = \frac{1}{2}` for :math:`|u| \leq 1` and 0 elsewhere. Then the count is
#
# .. math:: \hat{p}(x) = \frac{1}{N h} \sum_{n=1}^N K \left( \frac{x - x_n}{h} \right)
#
# The lecture prints :math:`|u| < 1`, which does not go with its closed interval. It matters where values are round:

whole = np.array([0.0, 1, 1, 2, 5])
closed = np.sum(np.abs(1.0 - whole) <= 1) / (2 * len(whole))
open_ = np.sum(np.abs(1.0 - whole) < 1) / (2 * len(whole))
print("density at 1 with h = 1, closed:", closed, " open:", open_)
counting = KernelDensity(kernel="uniform", bandwidth=1.0).fit(whole[:, None])
assert np.isclose(np.exp(counting.score_samples([[1.0]]))[0], closed)

# %%
# Any other :math:`K` will do that has an integral of 1 and is symmetric, :math:`K(u) = K(-u)`. These are **Parzen
# windows**. (They are weights that fall with distance, not the positive definite kernels of the other lectures.)
# mercer has eight:

names = ["uniform", "triangular", "epanechnikov", "biweight"]
names += ["triweight", "cosine", "gaussian", "exponential"]


def K(name, u):
    return np.exp(smoothing_kernel_from(name).log_density(np.reshape(u, (-1, 1))))


u = np.linspace(-3, 3, 601)
fig, axes = plt.subplots(2, 4, figsize=(8, 3), sharex=True, sharey=True, layout="constrained")
for ax, name in zip(axes.flat, names, strict=True):
    mass, _ = quad(lambda t, name=name: K(name, t)[0], -40, 40, points=[-1, 0, 1], limit=200)
    assert np.isclose(mass, 1, atol=1e-7)
    assert np.allclose(K(name, u), K(name, -u))
    ax.fill_between(u, K(name, u), color=BLUE, alpha=0.4)
    ax.set_title(name, fontsize=9)
fig.suptitle("Eight smoothing kernels, each symmetric and of mass 1")
fig.supxlabel("u")
plt.show()

# %%
# The **Gaussian kernel** is smooth, and reaches everywhere:
#
# .. math::
#    \hat{p}(x) = \frac{1}{N h} \sum_{n=1}^N \frac{1}{\sqrt{2 \pi}} \exp \left( -\frac{(x - x_n)^2}{2 h^2} \right)

h = 0.4
bumps = np.exp(-((x[:, None] - points) ** 2) / (2 * h**2)) / np.sqrt(2 * np.pi) / (N * h)
gaussian = KernelDensity(bandwidth=h).fit(X)
assert np.allclose(np.exp(gaussian.score_samples(x[:, None])), bumps.sum(axis=1))

fig, ax = plt.subplots(figsize=(5.5, 2.9), layout="constrained")
ax.fill_between(x, true_density(x), color=GREY, alpha=0.25, lw=0, label="true density")
ax.plot(x, 4 * bumps[:, ::6], color=ORANGE, lw=0.7, alpha=0.7)
ax.plot([], [], color=ORANGE, lw=0.7, label="some of the bumps, four times as high")
ax.plot(x, bumps.sum(axis=1), color=BLUE, label="their sum")
ax.set(xlabel="x", ylabel="density", ylim=(0, 0.5))
ax.set_title("Each point lays down a bump; the density is their sum")
ax.legend(frameon=False, fontsize=8)
plt.show()

# %%
# How wide?
# ---------
# A small :math:`h` returns to the spikes, a large one sees a single heap. The lecture suggests cross-validation and
# asks: on which data, by which measure? One good answer: leave out one point at a time, and take the :math:`h` under
# which the points left out are most probable,
#
# .. math:: \max_h \; \sum_n \log \, {\hat{p}\,}_{-n}(x_n), \qquad
#    {\hat{p}\,}_{-n}(x_n) = \frac{1}{(N - 1) h} \sum_{m \neq n} K \left( \frac{x_n - x_m}{h} \right).

between = stats.norm.pdf  # the Gaussian K


def left_out(h):
    """The sum above by hand: a matrix of all pairs, without its diagonal."""
    pairs = between((points[:, None] - points) / h)
    np.fill_diagonal(pairs, 0)
    return np.sum(np.log(pairs.sum(axis=1) / ((N - 1) * h)))


chosen = KernelDensity(bandwidth="likelihood-cv").fit(X)
assert np.isclose(left_out(0.4), gaussian.leave_one_out_log_density().sum())
best_h = float(chosen.bandwidth_)
assert left_out(best_h) >= max(left_out(best_h * f) for f in (0.8, 0.95, 1.05, 1.25))
print(f"chosen by leaving out: {best_h:.3f}")
for rule in ("isj", "scott-scaled", "silverman-scaled"):
    print(f"by the rule {rule}: {KernelDensity(bandwidth=rule).fit(X).bandwidth_:.3f}")

widths = np.geomspace(0.06, 3, 40)
fig, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
axes[0].fill_between(x, true_density(x), color=GREY, alpha=0.25, lw=0)
for h, colour, style in [(0.08, ORANGE, ":"), (best_h, BLUE, "-"), (1.5, GREEN, "--")]:
    density = np.exp(KernelDensity(bandwidth=h).fit(X).score_samples(x[:, None]))
    axes[0].plot(x, density, color=colour, ls=style, label=f"h = {h:.2f}")
axes[0].set(xlabel="x", ylabel="density", title="Too narrow, chosen, too wide")
axes[0].legend(frameon=False, fontsize=8)
axes[1].plot(widths, [left_out(h) for h in widths], color=BLUE)
axes[1].axvline(best_h, color=GREY, ls=":")
axes[1].set(xscale="log", xlabel="h", ylabel="log likelihood of points left out")
axes[1].set_title("Points left out say how wide")
plt.show()

# %%
# Of the rules from theory, Scott's and Silverman's know the spread only: made for a single normal heap, they smooth
# two of them too much. "isj" (Botev's plug-in rule) estimates how curved the density is, and does not.
#
# Several columns
# ---------------
# In :math:`D` dimensions a matrix :math:`\Sigma` takes the place of :math:`h^2`:
#
# .. math::
#    \hat{p}(x) = \frac{1}{N} \sum_{n=1}^N \frac{1}{\sqrt{(2 \pi)^D |\Sigma|}}
#    \exp \left( -\frac{1}{2} (x - x_n)^\top \Sigma^{-1} (x - x_n) \right)
#
# A number :math:`h` means :math:`\Sigma = h^2 I`: the bandwidth is a length, its matrix is in squared units. The
# lecture's example is a mixture of two Gaussians in the plane.

means = [[-1.0, -0.5], [1.2, 1.0]]
covariances = [[[1.0, 0.6], [0.6, 0.8]], [[0.5, -0.3], [-0.3, 0.7]]]
halves = [stats.multivariate_normal(m, C) for m, C in zip(means, covariances, strict=True)]
rng = np.random.default_rng(0)
plane = np.vstack([half.rvs(300, random_state=rng) for half in halves])
Sigma = np.cov(plane.T) * len(plane) ** (-1 / 3) / 2

axis = np.linspace(-4, 4, 61)
mesh = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
away = mesh[:, None] - plane
squares = np.einsum("qni,ij,qnj->qn", away, np.linalg.inv(Sigma), away)
volume = np.sqrt((2 * np.pi) ** 2 * np.linalg.det(Sigma))
by_hand = np.mean(np.exp(-squares / 2), axis=1) / volume
windows = KernelDensity(bandwidth=Sigma).fit(plane)
assert np.allclose(np.exp(windows.score_samples(mesh)), by_hand)
number = KernelDensity(bandwidth=0.3).fit(plane)
matrix = KernelDensity(bandwidth=0.3**2 * np.eye(2)).fit(plane)
assert np.allclose(number.score_samples(mesh), matrix.score_samples(mesh))

known = (halves[0].pdf(mesh) + halves[1].pdf(mesh)) / 2
fig, axes = plt.subplots(1, 2, figsize=(7.5, 3.5), sharey=True, layout="constrained")
titles = ["Two Gaussians ...", "... as 600 points tell them"]
levels = np.linspace(0, 0.18, 10)
for ax, density, title in zip(axes, [known, by_hand], titles, strict=True):
    ax.contourf(axis, axis, density.reshape(61, 61), levels=levels, cmap="cividis")
    ax.set(xlabel="$x_1$", title=title, aspect="equal")
axes[1].plot(*plane[::4].T, ".", color="white", ms=1.5)
axes[0].set_ylabel("$x_2$")
plt.show()

# %%
# First use: outliers
# -------------------
# A density says which rows are strange: those where it is low. How low? :class:`mercer.DensityOutliers` holds out
# half of the rows, and compares a new row's log density with theirs. Of the rows that it flags in a batch at most the
# share ``fdr`` are usual ones, on average.

usual = np.vstack([half.rvs(20, random_state=rng) for half in halves])
strange = [[-3, 3], [3.5, -2.5], [4, 4], [-1.5, 2.2], [2.2, -1.6], [0.6, -2.6], [-4.5, 0.5], [0, 4.5]]
batch = np.vstack([usual, strange])
detector = DensityOutliers(KernelDensity(bandwidth=Sigma), fdr=0.1, random_state=0)
detector.fit(plane)
flagged = detector.predict(batch) == -1
print(f"flagged: {flagged[40:].sum()} of 8 strange points, {flagged[:40].sum()} of 40 usual")
assert flagged[40:].sum() >= 6

fig, ax = plt.subplots(figsize=(4.6, 3.6), layout="constrained")
levels[0] = 0.005
ax.contourf(axis, axis, by_hand.reshape(61, 61), levels=levels, cmap="Greys", alpha=0.6)
ax.plot(*batch[~flagged].T, "o", color=BLUE, ms=4, label="not flagged")
ax.plot(*batch[flagged].T, "X", color=ORANGE, ms=7, label="flagged")
ax.set(xlabel="$x_1$", ylabel="$x_2$", xlim=(-5, 5), ylim=(-5, 5))
ax.set_title("Strange is where the density is low")
ax.legend(frameon=False, loc="lower left", fontsize=8)
plt.show()

# %%
# Second use: regression without a formula
# ----------------------------------------
# Let :math:`x` and :math:`y` have a joint density by windows,
#
# .. math:: p(x, y) = \frac{1}{N} \sum_n K_h(x - x_n) \, K_{h'}(y - y_n), \qquad K_h(u) = \frac{1}{h} K(u / h).
#
# (The lecture leaves out :math:`1/N`, without which it is not a density; then it cancels.) The best guess of
# :math:`y`, by squared error, is the mean of :math:`p(y|x) = p(x, y) / p(x)`, that is :math:`\mathrm{E}[y|x]`, and
#
# .. math:: \mathrm{E}[y|x] = \frac{\sum_n K_h(x - x_n) \, y_n}{\sum_n K_h(x - x_n)}.
#
# Why? A symmetric window around :math:`y_n` has the mean :math:`y_n`, whatever its width :math:`h'`. That is the
# lecture's take-home exercise; here it is done by quadrature.

rng = np.random.default_rng(1)
t = np.sort(rng.uniform(0, 6, 90))
y = np.sin(t) + 0.3 * t + 0.25 * rng.normal(size=90)
h, at = 0.4, 2.0

weight = between((at - t) / h)
average = weight @ y / weight.sum()
values = np.linspace(-50, 50, 20_001)
for h_y in (0.1, 1.0, 5.0):
    windows_of_y = between((values[:, None] - y) / h_y) / h_y
    conditional = windows_of_y @ weight / weight.sum()  # p(y | x = 2)
    mean = np.trapezoid(values * conditional, values)
    print(f"h' = {h_y}: mean of p(y | x = 2) {mean:.6f}, weighted average {average:.6f}")
    assert np.isclose(mean, average, atol=1e-6)

regression = NadarayaWatson(bandwidth=h).fit(t[:, None], y)
assert np.isclose(regression.predict([[at]])[0], average)
joint = KernelDensity(bandwidth=[h, 1.0]).fit(np.column_stack([t, y]))
assert np.isclose(joint.conditional({0: at}).mean()[0], average)

# %%
# This is **Nadaraya and Watson's regression**, a weighted average of all targets whose weights :math:`w(x, x_n)` sum
# to 1.

w = regression.weights([[at]])[0]
assert np.allclose(w, weight / weight.sum())
assert np.isclose(w.sum(), 1)

fig, ax = plt.subplots(figsize=(5.5, 3.1), layout="constrained")
dots = ax.scatter(t, y, c=w, s=22, cmap="Blues", edgecolor=GREY, lw=0.4)
ax.axvline(at, color=GREY, ls=":", lw=1)
ax.plot(at, average, "D", color=ORANGE, ms=8, label="their average, the prediction at 2")
fig.colorbar(dots, label="weight $w(2, x_n)$")
ax.set(xlabel="x", ylabel="y", title="Near points weigh most", ylim=(-0.3, 2.4))
ax.legend(frameon=False, fontsize=8, loc="upper right")
plt.show()

# %%
# **The width again.** As :math:`h \to 0` the prediction becomes the nearest neighbour's target, as
# :math:`h \to \infty` the mean of all. By default the width is chosen by leaving out one row at a time, now by
# squared error.

nearest = y[np.argmin(np.abs(t - at))]
narrow = NadarayaWatson(bandwidth=1e-4).fit(t[:, None], y)
wide = NadarayaWatson(bandwidth=1e6).fit(t[:, None], y)
assert np.isclose(narrow.predict([[at]])[0], nearest)
assert np.isclose(wide.predict([[at]])[0], y.mean())

best = NadarayaWatson().fit(t[:, None], y)
line = np.linspace(0, 6, 300)[:, None]
fig, ax = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
ax.plot(t, y, ".", color=GREY, ms=4)
ax.plot(line, np.sin(line) + 0.3 * line, color="black", lw=1, label="truth")
for model, colour, style, name in [
    (NadarayaWatson(bandwidth=0.02), ORANGE, ":", "h = 0.02: nearest neighbour"),
    (best, BLUE, "-", "h chosen by leaving out"),
    (NadarayaWatson(bandwidth=30.0), GREEN, "--", "h = 30: the mean"),
]:
    ax.plot(line, model.fit(t[:, None], y).predict(line), color=colour, ls=style, label=name)
ax.set(xlabel="x", ylabel="y", ylim=(-0.7, 3.6), title="From the nearest to the mean")
ax.legend(frameon=False, fontsize=8, loc="upper left")
plt.show()
print(best.certificate_.sentence)

# %%
# With a good width the estimate follows the truth, except at the ends, where all neighbours are on one side and the
# average leans inwards. :class:`mercer.LocalLinear` fits a line instead of a mean, and does not lean.
