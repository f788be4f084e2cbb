"""The packages that Gatepost is installed with: their list, its bill of materials, advisories."""
