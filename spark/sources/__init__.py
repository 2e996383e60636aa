"""Where messages come from: `commitlog` reads the files of stores, `live` asks brokers over the wire.

`register(session)` makes both known to a session. A source plans (which files, which ranges) on the driver and
decodes in the workers; what is planned is small and plain, so that it travels.
"""
