"""Smooth penalties: Newton's method, by Hessians, products or gradients alone, and descent along gradients."""
