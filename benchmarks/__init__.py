"""Every claim about performance, to be measured again; each beside its alternative in the same run."""
