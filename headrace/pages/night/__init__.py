"""The night: its page (`routes`), and the places of runs and deadlines on it (`timeline`)."""
