"""Skills of workers: by rank-one completion, their priors, intervals and status. `solvers` has the solvers by name."""
