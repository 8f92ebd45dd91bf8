"""What pytest must not import when it looks for examples: scripts of the gallery run as they are imported."""

collect_ignore_glob = ["gallery/*", "generated/*", "conf.py", "figure_scraper.py"]
