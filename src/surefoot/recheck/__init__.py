"""Evidence files checked again with model and data: trials run a second time."""
