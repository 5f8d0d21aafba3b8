# One fit by BradleyTerry2 or psychotools, for `python -m benchmarks.bradley_terry`
# (Debian: r-cran-bradleyterry2, r-cran-psychotools):
#     Rscript bradley_terry.R PROGRAM N_ITEMS FILE
# FILE has columns left, right (from 0), outcome (1, 0, -1) and those of the context. Prints CPU
# seconds of the fit, abilities over the first and, after a bar, coefficients of the context.
input <- commandArgs(trailingOnly = TRUE)
n <- as.integer(input[2])
votes <- read.csv(input[3])
context <- setdiff(names(votes), c("left", "right", "outcome"))

by_bradley_terry_2 <- function() {
  # a tie is half a win for each; without context, wins and losses of each pair are enough
  wins <- data.frame(win1 = (1 + votes$outcome) / 2, win2 = (1 - votes$outcome) / 2)
  if (length(context) > 0) {
    votes <- cbind(votes, wins)
  } else {
    votes <- aggregate(wins, votes[c("left", "right")], sum)
  }
  first <- data.frame(id = factor(votes$left, levels = seq_len(n) - 1), votes[context])
  second <- first
  second$id <- factor(votes$right, levels = seq_len(n) - 1)
  second[context] <- rep(list(0), length(context))
  fit <- suppressWarnings(BradleyTerry2::BTm(
    cbind(win1, win2), first, second, reformulate(c("id", context)), id = "id", data = votes))
  list(BradleyTerry2::BTabilities(fit)[, "ability"], coef(fit)[context])
}

by_psychotools <- function() {
  if (length(context) > 0) stop("btmodel has no columns of comparisons")
  swapped <- votes$left > votes$right
  low <- ifelse(swapped, votes$right, votes$left)
  high <- ifelse(swapped, votes$left, votes$right)
  # pairs are 1:2, 1:3, 2:3, 1:4, ...; a row has one answer to each
  column <- high * (high - 1) / 2 + low + 1
  row <- ave(column, column, FUN = seq_along)
  answers <- matrix(NA_integer_, max(row), n * (n - 1) / 2)
  answers[cbind(row, column)] <- as.integer(ifelse(swapped, -votes$outcome, votes$outcome))
  data <- psychotools::paircomp(answers, labels = paste0("item", seq_len(n)))
  kind <- if (any(votes$outcome == 0)) "loglin" else "logit"
  fit <- psychotools::btmodel(data, type = kind)
  list(psychotools::itempar(fit, ref = 1, vcov = FALSE, log = TRUE), NULL)
}

start <- proc.time()
found <- list(BradleyTerry2 = by_bradley_terry_2, psychotools = by_psychotools)[[input[1]]]()
seconds <- sum((proc.time() - start)[1:2])
number <- function(x) paste(formatC(as.numeric(x), digits = 15, format = "g"), collapse = " ")
cat(seconds, number(found[[1]]), "|", number(found[[2]]), "\n")
