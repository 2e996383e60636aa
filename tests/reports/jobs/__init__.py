"""Programs for spark-submit that the tests of the runner bring with them."""
