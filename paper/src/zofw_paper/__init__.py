"""The laboratory of the paper: experiments from TOML to stored runs, figures, tables and published pages."""

EXPERIMENTS = ("fig1", "fig2", "fig3", "fig4", "table1")
