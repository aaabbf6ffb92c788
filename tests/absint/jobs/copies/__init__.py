"""Copies of models."""
