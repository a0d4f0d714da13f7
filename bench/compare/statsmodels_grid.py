"""The published search: every ARIMA order up to (5,5,5) by statsmodels, maximum likelihood, default optimiser.

usage: statsmodels_grid.py VALUES SIDE

VALUES has one number a line; p, d and q are below SIDE. Prints the CPU seconds that the fits took, without imports, how many orders were fitted, how many raised
an exception and how many warned; then a line 'P D Q LOG-LIKELIHOOD' for each that was fitted. There is a mean where nothing is
differenced, as in the other programs that are compared.
"""

import math
import sys
import time
import warnings

import numpy
from statsmodels.tsa.statespace.sarimax import SARIMAX


def main():
    values = numpy.loadtxt(sys.argv[1])
    side = int(sys.argv[2])
    rows = []
    raised = warned = 0
    start = time.process_time()
    for d in range(side):
        for p in range(side):
            for q in range(side):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter('always')
                    try:
                        fit = SARIMAX(values, order=(p, d, q), trend='c' if d == 0 else 'n').fit(disp=0)
                        if math.isfinite(fit.llf):
                            rows.append((p, d, q, fit.llf))
                    except Exception:  # pylint: disable=broad-exception-caught
                        raised += 1
                    warned += bool(caught)
    seconds = time.process_time() - start
    print(seconds, len(rows), raised, warned)
    for row in rows:
        print(*row)


main()
