"""The memory of the system: what has come in, and what was answered, as Parquet segments and small manifests.

- `storage` reaches any file system by URL; whatever it writes is there as a whole or not at all.
- `segment` is one immutable Parquet file and what is known of it without opening it (its zone map).
- `journal` is the order in which everything came in: each entry is one atomic append to one or several streams.
- `ingest` turns rows with `+`, `-` and `=` into weighted rows with ticks and indexes, and appends them; `rows` are what
  comes as arrays, `revisions` says which of them are taken and what each takes away.
- `results` says which segments hold the answers of which query, batch by batch.
- `upkeep` keeps all of it bounded: folds entries and records, has small segments merged (`merging`), drops what nobody
  can need (`cutting`) and deletes files that nothing refers to (`sweeping`).
"""
