"""Programs that tests start in several processes; each asserts in every process."""
