"""What tags cost: the experiments of the tag paper on a stream of moving objects, and what was there before tags.

    make bench-tags    or    python -m bench.tags [--shares 0,20,100] [--rows 20000] [--only tagger,join] …

Objects move on a road network and report where they are; some of the reports are tagged with emotions. Every side of
an experiment has a database of its own in one Spark session and is given every batch, in turns. Answers are compared
with what numpy and pandas work out.
"""
