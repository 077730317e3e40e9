"""The laboratory: experiments from TOML to stored runs, figures, tables and a report; and the command line."""
