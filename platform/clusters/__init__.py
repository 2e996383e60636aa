"""The domain: hosts, clusters, topics, groups, messages, access control; desired and live state."""
