"""What a name server and a broker share as processes: configuration text, logs, metrics port, signals."""
