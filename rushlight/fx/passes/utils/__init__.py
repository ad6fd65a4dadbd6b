"""What passes over graphs share: matching and partitions."""
