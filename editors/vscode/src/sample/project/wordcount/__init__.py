from .counter import count

__all__ = ["count"]
