"""Tables that are asked by key: what is known of them (`answers`), who asks (`asking`) and how, in tasks (`tasks`).

A stage that looks one up joins the tuples whose keys are known. The others wait in a log beside its own
(`evaluate/asked.py`), until an answer comes.
"""
