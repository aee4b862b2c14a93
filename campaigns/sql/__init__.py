"""The statements that are the point: claim, settle, recover, snapshot. One module a subject, one function a statement.

Rows are always locked in this order: batch, then recipients. A statement that needs both takes the batch first.
"""
