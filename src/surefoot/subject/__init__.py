"""The things under study: protocols of model, perturbation and property; inputs and items."""
