// Real parts for tests.
