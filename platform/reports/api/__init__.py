"""REST of reports: /api/v1/reports/ and below /api/v1/clusters/{cluster}/reports/."""
