"""The laboratory of the paper: experiments from TOML to stored runs, figures, tables and published pages."""
