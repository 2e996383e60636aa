"""The pages in a real browser (Debian's chromium, by playwright), on the real platform and real brokers.

A file per area of the pages. Fixtures are in conftest.py: `console` is the running platform with its first
cluster `local`, `open_page` opens a page as somebody, `shoot` keeps a screen. A test fails when its page
logged an error or broke the content policy.
"""
