"""79 cases of endometrial cancer, quasi-separated by neovascularisation: no case with it has a low grade.

Heinze and Schemper, Statistics in Medicine 21 (2002), 2409-2419; data also in Agresti, Foundations of Linear and
Generalized Linear Models (2015). Estimates and profile intervals as the R package logistf prints them.
"""

from __future__ import annotations

import numpy as np

NAMES = ("NV", "PI", "EH")

#: pulsatility index and endometrium height of the cases of low grade, then of high grade; `*` marks neovascularisation
LOW = """13 1.64, 16 2.26, 8 3.14, 34 2.68, 20 1.28, 5 2.31, 17 1.8, 10 1.68, 26 1.56, 17 2.31, 8 2.01, 7 1.89, 20 3.15,
10 1.23, 18 1.27, 16 1.76, 18 2, 28 1.5, 11 1.33, 19 2.37, 10 1.82, 10 3.13, 18 1.31, 14 1.92, 21 1.64, 11 2.01,
17 1.88, 25 1.93, 16 2.11, 19 1.29, 15 1.72, 33 0.75, 24 1.92, 29 2.02, 15 2.29, 12 2.33, 3 2.9, 20 1.7, 23 1.41,
12 2.25, 22 1.54, 42 1.97, 15 1.75, 13 2.16, 14 2.57, 19 1.37, 12 3.61, 13 2.04, 10 2.17"""
HIGH = """8 2.64, 29 0.88, 12 1.27, 20 1.37, 38 0.97*, 22 1.14*, 7 0.88*, 25 0.91*, 15 0.58*, 7 0.97, 48 1.84, 12 1.11,
19 1.61, 2 1.18, 22 1.44*, 40 1.18*, 5 0.93*, 0 1.17*, 21 1.19, 15 1.06, 12 1.69, 49 0.27*, 6 1.84, 5 1.3, 17 0.96,
11 1.01*, 21 0.98*, 5 0.35, 19 1.02*, 33 0.85"""


def _rows(cases: str) -> list[list[float]]:
    return [
        [float(case.endswith("*")), *map(float, case.rstrip("*").split())] for case in map(str.strip, cases.split(","))
    ]


X = np.array(_rows(LOW) + _rows(HIGH))
y = np.repeat([0.0, 1.0], [49, 30])

FIRTH_COEFFICIENTS = np.array([2.92927330, -0.03475175, -2.60416387])
FIRTH_INTERCEPT = 3.77455951
#: 95 %, by the profile of the penalised likelihood; the intercept last
FIRTH_INTERVALS = np.array(
    [[0.6097244, 7.85463171], [-0.1244587, 0.04045547], [-4.3651832, -1.23272106], [1.0825371, 7.20928050]]
)
