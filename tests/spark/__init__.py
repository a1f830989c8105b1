"""What runs on Spark, against the reference engine and against Spark itself."""
