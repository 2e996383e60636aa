"""The site: settings, addresses, sign-in, live updates. Wires the apps and decides nothing for them."""
