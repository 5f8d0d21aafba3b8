"""The paper's experiments: every figure from one command, its claims checked, and what lies beyond."""
