"""Give releases their keys, ids and headers, and keep the ledger of promises."""
