# The published search: every ARIMA order up to (5,5,5) by R's arima(), maximum likelihood, default optimiser.
#
# usage: Rscript r_grid.R VALUES SIDE
#
# VALUES has one number a line; p, d and q are below SIDE. Prints the CPU seconds that the fits took, how many orders were fitted, how
# many raised an error and how many warned; then a line 'P D Q LOG-LIKELIHOOD' for each that was fitted. arima() has a mean where
# nothing is differenced.

arguments <- commandArgs(trailingOnly = TRUE)
values <- scan(arguments[1], quiet = TRUE)
side <- as.integer(arguments[2])
cpu_seconds <- function() sum(proc.time()[c("user.self", "sys.self")])
rows <- character(0)
raised <- 0
warned <- 0
start <- cpu_seconds()
for (d in seq_len(side) - 1) for (p in seq_len(side) - 1) for (q in seq_len(side) - 1) {
  complained <- FALSE
  fit <- tryCatch(
    withCallingHandlers(arima(values, order = c(p, d, q), method = "ML"), warning = function(condition) {
      complained <<- TRUE
      invokeRestart("muffleWarning")
    }),
    error = function(condition) NULL
  )
  warned <- warned + complained
  if (is.null(fit)) {
    raised <- raised + 1
  } else if (is.finite(fit$loglik)) {
    rows <- c(rows, sprintf("%d %d %d %.10f", p, d, q, fit$loglik))
  }
}
seconds <- cpu_seconds() - start
cat(sprintf("%.3f %d %d %d", seconds, length(rows), raised, warned), rows, sep = "\n")
cat("\n")
