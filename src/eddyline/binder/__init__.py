"""From syntax to plans: names and types resolved, everything checked, one clear error where it is wrong.

`statement` takes the statements of a script in their order; `query` binds queries by way of `select` (FROM, the select
list, WHERE) and `stream_query` or `window_query`; `tag_query` and `attach` bind TAG-QL; `expression` binds expressions.
"""
