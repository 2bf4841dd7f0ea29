"""Reports about jobs, parsed to run events: completion files and documents, scheduler logs, autorep output. Pure."""
