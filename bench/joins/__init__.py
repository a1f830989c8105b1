"""Multi-way joins within limits: how long the planners take and how often they find a plan."""
