"""The MCP server: search, read and look up; start, watch and read measurements."""
