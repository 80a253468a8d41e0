"""Tests in a real browser: hostile pages, and the dashboard."""
