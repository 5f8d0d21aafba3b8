"""Long studies, with many repeats; `make test` has a short version of each."""
