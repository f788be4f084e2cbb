"""What tests share: people, sites, servers, browsers, settings."""
