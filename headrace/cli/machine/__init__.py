"""Commands for one machine: `up`, `down`, `clean`, `retention`."""
