"""Policy over the tables: the verbs that change a job."""
