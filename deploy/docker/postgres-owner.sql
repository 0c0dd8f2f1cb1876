-- Runs once, as the superuser, when the folder of the database is made.
-- The owner makes tables and the roles of the services, and is no superuser: a mistake in a migration stays in its database.
\getenv password POSTGRES_PASSWORD
create role penstock login createrole password :'password';
alter database penstock owner to penstock;
-- Without a password the superuser comes in from inside of its own container alone.
alter role postgres password null;
