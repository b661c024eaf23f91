"""The ops pages: last night, flagged games, and what people decide about them.

Server-rendered; every page lies at one level (``flags?day=…``) and every link is relative, so that the same app runs by itself
and mounted under any prefix.  FastAPI and what it needs come with the extra ``[dashboard]``.
"""
