"""Frozen models."""
