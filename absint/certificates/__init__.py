"""Certificates.
"""
