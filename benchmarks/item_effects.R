# Random effects of items in R: lme4 (Laplace), mgcv (Laplace, maximum likelihood) and
# BradleyTerry2 (penalised quasi-likelihood), for benchmarks/item_effects_r.py.
# A folder holds items.csv (x1, x2) and votes.csv (study, left, right, won), items counted from 1.
suppressPackageStartupMessages({library(lme4); library(mgcv); library(BradleyTerry2)})

folder <- commandArgs(trailingOnly = TRUE)[1]
all_items <- read.csv(file.path(folder, "items.csv"))
all_votes <- read.csv(file.path(folder, "votes.csv"))

by_lme4 <- function(votes, Z) {
  # an item per comparison is what lme4 can write down; the two items take its place afterwards
  votes$item <- factor(rep_len(seq_len(ncol(Z)), nrow(votes)))
  parts <- glFormula(won ~ 0 + d1 + d2 + (1 | item), data = votes, family = binomial)
  parts$reTrms$Zt <- as(t(Z), "CsparseMatrix")
  deviance <- do.call(mkGlmerDevfun, parts)
  optimizeGlmer(deviance)
  deviance <- updateGlmerDevfun(deviance, parts$reTrms)
  best <- optimizeGlmer(deviance, stage = 2)
  model <- mkMerMod(environment(deviance), best, parts$reTrms, fr = parts$fr)
  c(fixef(model), sqrt(diag(as.matrix(vcov(model)))), sqrt(unlist(VarCorr(model))))
}

by_mgcv <- function(votes, Z) {
  votes$Z <- as.matrix(Z)
  model <- gam(won ~ 0 + d1 + d2 + Z, data = votes, family = binomial, method = "ML",
               paraPen = list(Z = list(diag(ncol(Z)))))
  errors <- sqrt(diag(vcov(model)))
  own <- c("d1", "d2")
  c(coef(model)[own], errors[own], sqrt(1 / model$sp))
}

by_bradley_terry <- function(votes, items) {
  levels <- seq_len(nrow(items))
  contests <- data.frame(won = votes$won, lost = 1 - votes$won)
  contests$one <- data.frame(item = factor(votes$left, levels = levels))
  contests$two <- data.frame(item = factor(votes$right, levels = levels))
  model <- BTm(cbind(won, lost), one, two, ~ x1[item] + x2[item] + (1 | item), id = "item",
               data = list(contests = contests, items = items))
  errors <- sqrt(diag(as.matrix(vcov(model))))
  c(coef(model)[1:2], errors[1:2], model$sigma)
}

tried <- function(answer) tryCatch(suppressWarnings(answer), error = function(e) rep(NA, 5))

found <- NULL
for (study in unique(all_votes$study)) {
  items <- all_items[all_items$study == study, ]
  votes <- all_votes[all_votes$study == study, ]
  votes$d1 <- items$x1[votes$left] - items$x1[votes$right]
  votes$d2 <- items$x2[votes$left] - items$x2[votes$right]
  row <- seq_len(nrow(votes))
  Z <- Matrix::sparseMatrix(i = c(row, row), j = c(votes$left, votes$right),
                            x = rep(c(1, -1), each = nrow(votes)),
                            dims = c(nrow(votes), nrow(items)))
  answers <- list(lme4 = tried(by_lme4(votes, Z)), mgcv = tried(by_mgcv(votes, Z)),
                  BradleyTerry2 = tried(by_bradley_terry(votes, items)))
  for (name in names(answers)) {
    found <- rbind(found, data.frame(study, method = name, t(unname(answers[[name]]))))
  }
}
names(found) <- c("study", "method", "coef1", "coef2", "error1", "error2", "sd")
write.csv(found, file.path(folder, "found.csv"), row.names = FALSE)
