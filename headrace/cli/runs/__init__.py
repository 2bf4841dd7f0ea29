"""Commands about runs: `materialize`, `check`, `observe`, `status`, `why`."""
