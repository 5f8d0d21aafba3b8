# What BradleyTerry2 and psychotools do, tried on published studies, for docs/comparison.md.
# From the root of the repository:
#     Rscript benchmarks/peers.R
suppressMessages({library(BradleyTerry2); library(psychotools)})

try_out <- function(program, feature, fit) {
  seen <- tryCatch(suppressMessages(suppressWarnings(capture.output(print(fit)))),
                   error = function(e) paste("FAILED:", conditionMessage(e)))
  cat(program, "|", feature, "|", substr(gsub(" +", " ", paste(seen, collapse = " ")), 1, 90), "\n")
}

one <- "BradleyTerry2"
votes <- read.csv("examples/data/baseball/votes.csv")
teams <- sort(unique(c(votes$left, votes$right)))
votes <- votes[rep(seq_len(nrow(votes)), votes$count), ]
first <- factor(votes$left, levels = teams)
second <- factor(votes$right, levels = teams)
win <- as.numeric(votes$winner == "left")
x <- list(items = data.frame(x = seq_along(teams) %% 3))
free <- BTm(win, first, second)
side <- BTm(win, data.frame(id = first, side = 1), data.frame(id = second, side = 0),
            ~ id + side, id = "id")
features <- suppressWarnings(BTm(win, first, second, ~ x[id], id = "id", data = x))
random <- BTm(win, first, second, ~ x[id] + (1 | id), id = "id", data = x)
try_out(one, "abilities", BTabilities(free)[1:2, ])
try_out(one, "features", coef(features))
try_out(one, "side", coef(side)["side"])
try_out(one, "item effects", random$sigma)
try_out(one, "quasi-variances", qvcalc::qvcalc(BTabilities(free))$qvframe[1:2, ])
try_out(one, "profile intervals", confint(features))
try_out(one, "likelihood ratio", anova(features, free, test = "Chisq")[2, ])
try_out(one, "new pairs of known items", predict(features, type = "response")[1:2])
try_out(one, "bias reduction", coef(update(free, br = TRUE))[1:2])
try_out(one, "probit", coef(update(features, family = binomial(link = "probit"))))
ids <- c("a", "b", "c")
try_out(one, "always wins", coef(BTm(c(1, 1, 1), factor(c("a", "b", "a"), levels = ids),
                                     factor(c("b", "c", "c"), levels = ids))))

two <- "psychotools"
data("GermanParties2009", package = "psychotools")
parties <- GermanParties2009$preference
fit <- btmodel(parties)
try_out(two, "abilities", coef(fit)[1:2])
try_out(two, "worth", worth(fit)[1:2])
try_out(two, "intervals", confint(fit)[1, ])
try_out(two, "log-likelihood", as.numeric(logLik(fit)))
tied <- paircomp(rbind(c(1, 0, 1), c(-1, 1, 0), c(1, -1, -1), c(0, 1, 1)))
try_out(two, "ties", coef(btmodel(tied, undecided = TRUE)))
both_ways <- paircomp(rbind(c(1, -1, 1, 1, -1, -1), c(-1, 1, 1, -1, 1, 1)), ordered = TRUE)
try_out(two, "side", coef(btmodel(both_ways, position = TRUE)))
