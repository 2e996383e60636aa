"""What Prometheus is told about the console itself; brokers have metrics of their own (docs/admin.md)."""
