# Likelihoods, tests and profile intervals of published studies, by R and BradleyTerry2.
# From the root of the repository (Debian: r-cran-bradleyterry2, r-cran-mass):
#     Rscript tests/evaluation/bradley_terry.R > tests/evaluation/bradley_terry.txt
suppressMessages({library(BradleyTerry2); library(MASS)})
exact <- glm.control(epsilon = 1e-14, maxit = 100)

read_study <- function(name) {
  folder <- file.path("examples", "data", name)
  votes <- read.csv(file.path(folder, "votes.csv"))
  votes <- votes[rep(seq_len(nrow(votes)), votes$count), ]  # single comparisons
  items <- read.csv(file.path(folder, "items.csv"), check.names = FALSE)
  sides <- c("left", "right")
  list(votes = votes, items = items,
       players = lapply(votes[sides], factor, levels = items$id),
       X = as.matrix(items[match(votes$left, items$id), -1, drop = FALSE]) -
           as.matrix(items[match(votes$right, items$id), -1, drop = FALSE]))
}

show <- function(...) cat(..., "\n")
number <- function(x) formatC(x, digits = 12, format = "g")

# abilities of the teams or journals, without and with the side
abilities <- function(name) {
  study <- read_study(name)
  win <- as.numeric(study$votes$winner == "left")
  first <- data.frame(id = study$players$left, side = 1)
  second <- data.frame(id = study$players$right, side = 0)
  plain <- BTm(win, first, second, ~ id, id = "id", control = exact)
  sided <- update(plain, formula = ~ id + side)
  for (one in list(list("plain", plain), list("sided", sided))) {
    fit <- one[[2]]
    show(name, one[[1]], "loglik", number(as.numeric(logLik(fit))))
    show(name, one[[1]], "deviance", number(deviance(fit)))
    show(name, one[[1]], "df", attr(logLik(fit), "df"))
    show(name, one[[1]], "aic", number(AIC(fit)))
    show(name, one[[1]], "bic", number(AIC(fit, k = log(length(win)))))
  }
  ratio <- deviance(plain) - deviance(sided)
  show(name, "anova", "ratio", number(ratio))
  show(name, "anova", "p", number(pchisq(ratio, 1, lower.tail = FALSE)))
  z <- coef(sided)["side"] / sqrt(vcov(sided)["side", "side"])
  show(name, "anova", "wald", number(z^2))
  worth <- exp(BTabilities(plain)[study$items$id, "ability"])
  show(name, "worth", "largest", number(max(worth / sum(worth))))
}

# where the deviance with a coefficient held fixed is a quantile above the smallest
profile_end <- function(win, X, column, sign, quantile) {
  fit <- glm(win ~ X - 1, family = binomial, control = exact)
  error <- sqrt(vcov(fit)[column, column])
  above <- function(value) {
    rest <- X[, -column, drop = FALSE]
    held <- value * X[, column]
    if (ncol(rest) == 0) {
      return(sum(-2 * log(plogis((2 * win - 1) * held))) - deviance(fit) - quantile)
    }
    deviance(glm(win ~ rest - 1, offset = held, family = binomial, control = exact)) -
      deviance(fit) - quantile
  }
  far <- coef(fit)[[column]] + sign * 6 * error
  uniroot(above, sort(c(coef(fit)[[column]], far)), tol = 1e-13)$root
}

profiles <- function(name, side) {
  study <- read_study(name)
  win <- as.numeric(study$votes$winner == "left")
  X <- if (side) cbind(study$X, left = 1) else study$X
  for (column in seq_len(ncol(study$X))) {
    ends <- sapply(c(-1, 1), function(sign) profile_end(win, X, column, sign, qchisq(0.95, 1)))
    show(name, "profile", gsub(" ", "_", colnames(X)[column]), number(ends[1]), number(ends[2]))
  }
  fit <- glm(win ~ X - 1, family = binomial, control = exact)
  residual <- list(pearson = residuals(fit, "pearson"), deviance = residuals(fit, "deviance"),
                   standardised = rstandard(fit, type = "pearson"))
  for (kind in names(residual)) {
    show(name, "residuals", kind, number(sum(abs(residual[[kind]]))), number(max(residual[[kind]])))
  }
}

# standardised residuals of abilities, with the side or without, and what one Newton step from the
# fit makes of the other abilities (centred) and of the side without the comparisons of an item
without_items <- function(name, side) {
  study <- read_study(name)
  win <- as.numeric(study$votes$winner == "left")
  ids <- study$items$id
  X <- outer(as.character(study$votes$left), ids, "==") -
    outer(as.character(study$votes$right), ids, "==")
  effects <- if (side) cbind(left = rep(1, length(win))) else NULL
  fit <- glm(win ~ cbind(X[, -1], effects) - 1, family = binomial, control = exact)
  standardised <- rstandard(fit, type = "pearson")
  of <- if (side) "sided" else "plain"
  show(name, paste0("abilities-", of), "standardised", number(sum(abs(standardised))),
       number(max(standardised)))
  n <- length(ids)
  theta <- c(0, coef(fit))
  for (item in seq_len(n)) {
    rest <- X[, item] == 0
    others <- setdiff(seq_len(n), item)
    start <- c(theta[others][-1] - theta[others][1], theta[-seq_len(n)])
    step <- suppressWarnings(
      glm.fit(cbind(X[rest, others[-1]], effects[rest, , drop = FALSE]), win[rest], start = start,
              family = binomial(), control = glm.control(maxit = 1), intercept = FALSE))
    after <- c(0, coef(step))
    moved <- theta[others] - mean(theta[others]) - (after[seq_len(n - 1)] - mean(after[seq_len(n - 1)]))
    moved <- c(moved, if (side) theta[n + 1] - after[n])
    show(name, paste0("influence-", of), gsub(" ", "_", ids[item]), number(sum(abs(moved))),
         number(moved[length(moved)]))
  }
}

abilities("baseball")
abilities("citations")
without_items("baseball", FALSE)
without_items("baseball", TRUE)
without_items("citations", FALSE)
profiles("baseball", TRUE)
profiles("citations", FALSE)
profiles("heaviness", TRUE)
