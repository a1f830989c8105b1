"""Tags on Spark: plans that carry tags become plans that carry one more column.

1. `log.tagged` has written the marks of every tuple beside it when it came.
2. `functions` say what becomes of marks; engines call them as they call functions of users.
3. `lowering` makes a plan with tags one without: where tags go, a column of marks goes.
"""
