"""What keeps a ledger well: the maintenance loop, and looking whether it is well."""
