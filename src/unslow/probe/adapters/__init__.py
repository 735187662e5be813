"""One file per framework, the same five names in each: MODULE, VERSIONS, CAPABILITIES, install, uninstall."""
