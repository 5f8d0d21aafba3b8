"""Long statistical studies, run by ``make studies``; ``make test`` runs a short version of each."""
